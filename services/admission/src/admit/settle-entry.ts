import { REFUSAL } from '@gateway/contracts/errors';
import type { BatchAnswer } from '@gateway/contracts/messages';
import { readAdmitReply } from '../domain/admit-reply.js';
import type { AdmitOutcome } from '../domain/admit-reply.js';
import { decisionCall } from '../domain/admit-script.js';
import type { PreparedCall } from '../domain/prepare-call.js';
import type { Decider } from '../load/decider.js';
import { findRoute, forgetRoute } from '../load/find-route.js';
import type { Route } from '../load/known.js';
import { learnAccount } from '../load/learn-account.js';
import { AdmissionFault } from '../ports.js';
import { answerOf, prepareEntry, targetOf } from './entry.js';
import type { Entry } from './entry.js';
import type { Turn } from './turn.js';

/** Each round brings something that was missing; more rounds than things to be missing mean a fault. */
const ROUNDS_MAX = 8;

/** What an entry that is decided alone needs of its turn. */
export type EntryTurn = Pick<Turn, 'expired' | 'beginScript'>;

/**
 * Decides one entry, loading what is missing. Whether the turn has expired is asked before each step, so that nothing
 * is decided after the entry was answered.
 * @throws AdmissionFault
 */
export async function settleEntry(decider: Decider, entry: Entry, turn: EntryTurn): Promise<BatchAnswer> {
  const found = await findRoute(decider, entry.body.digests);
  if (found === null) return unknownKey(entry);
  const { route, fresh } = found;
  let renewed = false;
  let notBefore = 0;
  for (let round = 0; round < ROUNDS_MAX && !turn.expired(); round += 1) {
    if (decider.known.account(route) === null && !(await learnAccount(decider, route))) {
      return forgetKey(decider, entry);
    }
    if (turn.expired()) break;
    const span = turn.beginScript(entry);
    const { outcome, prepared } = await decide(decider, entry, route, notBefore).finally(() => span?.end());
    // Within an account time never goes back: what a script has told holds for the rounds after it too.
    if (outcome.kind === 'clock') notBefore = outcome.now;
    if (outcome.kind === 'refused' && outcome.row === REFUSAL.invalid_api_key && fresh && !renewed) {
      // The owner has just named this digest, but the gate has another: the key was rotated, its record is on its way.
      renewed = true;
      const needs = { token: outcome.token, caughtUp: true, account: false, key: true, rows: [] };
      await decider.loader.load(route, { ...needs, startedAt: outcome.now });
      continue;
    }
    const answer = answerOf(decider.ports, entry, route, prepared, outcome);
    if (answer !== null) {
      decider.refused.note(route, answer);
      return answer;
    }
    if (outcome.kind !== 'load') continue;
    const unknownKeys = await decider.loader.load(route, { ...outcome.needs, startedAt: outcome.now });
    if (unknownKeys.has(route.key)) return forgetKey(decider, entry);
  }
  throw new AdmissionFault('admission_error', 'the call could not be decided in time');
}

/** Takes up what an outcome tells this process. */
export function learn(decider: Decider, route: Route, outcome: AdmitOutcome): void {
  if (outcome.kind === 'admitted' || outcome.kind === 'counted') decider.uses.note(route.key, outcome.now);
  if (outcome.kind === 'know') decider.known.keepAccount(route, outcome.key, outcome.terms, outcome.termsVersion);
  if (outcome.kind === 'lost' || outcome.kind === 'restoring') decider.noticeLoss(route.keys.bucket);
}

async function decide(
  decider: Decider,
  entry: Entry,
  route: Route,
  notBefore: number,
): Promise<{ outcome: AdmitOutcome; prepared: PreparedCall }> {
  const account = decider.known.account(route);
  if (account === null) throw new AdmissionFault('admission_error', 'the account was forgotten meanwhile');
  const prepared = prepareEntry(decider.ports, entry, account, notBefore);
  const reply = await decider.rounds.run(decisionCall(targetOf(decider.ports, entry, route), prepared));
  const outcome = readAdmitReply(reply, route, prepared);
  learn(decider, route, outcome);
  return { outcome, prepared };
}

async function forgetKey(decider: Decider, entry: Entry): Promise<BatchAnswer> {
  await forgetRoute(decider.ports.gate, decider.known, entry.body.digests);
  return unknownKey(entry);
}

function unknownKey(entry: Entry): BatchAnswer {
  return { kind: 'refused', id: entry.body.id, row: REFUSAL.invalid_api_key, facts: {} };
}
