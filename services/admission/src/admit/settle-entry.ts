import type { BatchAnswer } from '@gateway/contracts/messages';
import { readAdmitReply } from '../domain/admit-reply.js';
import type { AdmitOutcome } from '../domain/admit-reply.js';
import { decisionCall, probeCall } from '../domain/admit-script.js';
import type { PreparedCall } from '../domain/prepare-call.js';
import { findRoute, forgetRoute } from '../load/find-route.js';
import type { Known, Route } from '../load/known.js';
import type { AccountLoader } from '../load/load-account.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { answerOf, prepareEntry, targetOf } from './entry.js';
import type { Entry } from './entry.js';

/** What the decisions share within one process. */
export interface Decider {
  readonly ports: Ports;
  readonly known: Known;
  readonly loader: AccountLoader;
  /** Told of each bucket that has no token, or whose calls are being asked for. */
  readonly noticeLoss: (bucket: number) => void;
}

/** Each round brings something that was missing; more rounds than things to be missing mean a fault. */
const ROUNDS_MAX = 8;

/**
 * Decides one entry, loading what is missing. `expired` is asked before each step, so that nothing is decided after
 * the entry was answered.
 * @throws AdmissionFault
 */
export async function settleEntry(decider: Decider, entry: Entry, expired: () => boolean): Promise<BatchAnswer> {
  const { ports, known } = decider;
  const { id, digests } = entry.body;
  const found = await findRoute(ports, known, digests);
  if (found === null) return { kind: 'refused', id, row: 4, facts: {} };
  let renewed = false;
  for (let round = 0; round < ROUNDS_MAX && !expired(); round += 1) {
    const { outcome, prepared } = await decide(decider, entry, found.route);
    if (outcome.kind === 'refused' && outcome.row === 4 && found.fresh && !renewed) {
      // The owner has just named this digest, but the gate has another: the key was rotated, its record is on its way.
      renewed = true;
      const needs = { token: outcome.token, caughtUp: true, account: false, key: true, rows: [] };
      await decider.loader.load(found.route, { ...needs, startedAt: outcome.now });
      continue;
    }
    const answer = answerOf(ports, entry, found.route, prepared, outcome);
    if (answer !== null) return answer;
    if (outcome.kind !== 'load') continue;
    const unknownKeys = await decider.loader.load(found.route, { ...outcome.needs, startedAt: outcome.now });
    if (unknownKeys.has(found.route.key)) {
      await forgetRoute(ports.gate, known, digests);
      return { kind: 'refused', id, row: 4, facts: {} };
    }
  }
  throw new AdmissionFault('admission_error', 'the call could not be decided in time');
}

/** Takes up what an outcome tells this process. */
export function learn(decider: Decider, route: Route, outcome: AdmitOutcome): void {
  if (outcome.kind === 'know') decider.known.keepAccount(route, outcome.key, outcome.terms, outcome.termsVersion);
  if (outcome.kind === 'lost' || outcome.kind === 'restoring') decider.noticeLoss(route.keys.bucket);
}

async function decide(
  decider: Decider,
  entry: Entry,
  route: Route,
): Promise<{ outcome: AdmitOutcome; prepared: PreparedCall | null }> {
  const account = decider.known.account(route);
  const prepared = account && prepareEntry(decider.ports, entry, account);
  const target = targetOf(decider.ports, entry, route);
  const [reply] = await decider.ports.gate.run([prepared ? decisionCall(target, prepared) : probeCall(target)]);
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  const outcome = readAdmitReply(reply, route.account, prepared);
  learn(decider, route, outcome);
  return { outcome, prepared };
}

