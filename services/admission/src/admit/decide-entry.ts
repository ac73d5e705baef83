import type { BatchAnswer } from '@gateway/contracts/messages';
import { type AdmitOutcome, buildDecisionCall, readAdmitReply } from './admit-script.js';
import type { PreparedCall } from './prepare-call-rules.js';
import type { DecisionContext } from '../records/load-account.js';
import { evictKeyReference, findRoute } from '../records/find-key.js';
import { populateAccount } from '../records/populate-account.js';
import type { KeyReference } from '../records/record-cache.js';
import { AdmissionFault, runScript } from '../ports.js';
import type { BatchRun } from './batch-run.js';
import { type Entry, toAnswer, prepareEntry, buildTarget } from './entry.js';

/** Each attempt loads something that was missing. More attempts than that indicate a fault. */
const ATTEMPTS_MAX = 8;

/** The deadline and the start of scripts of an entry that is decided without a batch. */
export type EntryRun = Pick<BatchRun, 'expired' | 'beginScript'>;

/**
 * Decides one entry and loads missing records. Checks the deadline before each step, so that no
 * step starts after the entry was answered. A step that has started may still create a hold.
 * @throws AdmissionFault
 */
export async function decideEntry(decider: DecisionContext, entry: Entry, batchRun: EntryRun): Promise<BatchAnswer> {
  const found = await findRoute(decider, entry.body.digests);
  if (found === null) return unknownKey(entry);
  const { keyReference, fresh } = found;
  let renewed = false;
  let notBefore = 0;
  for (let attempt = 0; attempt < ATTEMPTS_MAX && !batchRun.expired(); attempt += 1) {
    if (decider.cache.account(keyReference) === null && !(await populateAccount(decider, keyReference))) {
      return evictKey(decider, entry);
    }
    if (batchRun.expired()) break;
    const span = batchRun.beginScript(entry);
    const { outcome, prepared } = await decide(decider, entry, keyReference, notBefore).finally(() => span?.end());
    // Time never goes back within an account, so the next attempts use this time or a later one.
    if (outcome.kind === 'clock') notBefore = outcome.now;
    if (outcome.kind === 'refused' && outcome.code === 'invalid_api_key' && fresh && !renewed) {
      // The owner has just returned this digest, but the limit store has a different one: the key
      // was rotated and its new record has not arrived yet.
      renewed = true;
      const needs = { epoch: outcome.epoch, caughtUp: true, account: false, key: true, rows: [] };
      await decider.loader.load(keyReference, { ...needs, startedAt: outcome.now });
      continue;
    }
    const answer = toAnswer(decider.ports, entry, keyReference, prepared, outcome);
    if (answer !== null) {
      decider.refused.note(keyReference, answer);
      return answer;
    }
    if (outcome.kind !== 'load') continue;
    const unknownKeys = await decider.loader.load(keyReference, { ...outcome.needs, startedAt: outcome.now });
    if (unknownKeys.has(keyReference.key)) return evictKey(decider, entry);
  }
  throw new AdmissionFault('admission_error', 'the call could not be decided in time');
}

/** Updates this process's caches from an outcome. */
export function updateCache(decider: DecisionContext, keyReference: KeyReference, outcome: AdmitOutcome): void {
  if (outcome.kind === 'admitted' || outcome.kind === 'counted') decider.uses.note(keyReference.key, outcome.now);
  if (outcome.kind === 'know')
    decider.cache.keepAccount(keyReference, outcome.key, outcome.terms, outcome.termsVersion);
  if (outcome.kind === 'lost' || outcome.kind === 'restoring') decider.noticeLoss(keyReference.keys.bucket);
}

async function decide(
  decider: DecisionContext,
  entry: Entry,
  keyReference: KeyReference,
  notBefore: number,
): Promise<{ outcome: AdmitOutcome; prepared: PreparedCall }> {
  const account = decider.cache.account(keyReference);
  if (account === null) throw new AdmissionFault('admission_error', 'the account was evicted in the meantime');
  const prepared = prepareEntry(decider.ports, entry, account, notBefore);
  const call = buildDecisionCall(buildTarget(decider.ports, entry, keyReference), prepared);
  const reply = await runScript(decider.ports.limitStore, call);
  const outcome = readAdmitReply(reply, keyReference, prepared);
  updateCache(decider, keyReference, outcome);
  return { outcome, prepared };
}

async function evictKey(decider: DecisionContext, entry: Entry): Promise<BatchAnswer> {
  await evictKeyReference(decider.ports.limitStore, decider.cache, entry.body.digests);
  return unknownKey(entry);
}

function unknownKey(entry: Entry): BatchAnswer {
  return { kind: 'refused', id: entry.body.id, code: 'invalid_api_key', facts: {} };
}
