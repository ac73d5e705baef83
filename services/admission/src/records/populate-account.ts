import { type ReadState, buildReadCall, parseReadReply } from '../read/read-script.js';
import { AdmissionFault, runScript } from '../ports.js';
import type { DecisionContext } from './load-account.js';
import type { KeyReference } from './record-cache.js';

/** Each attempt loads something that was missing. More attempts than that indicate a fault. */
const ATTEMPTS_MAX = 8;

/**
 * Reads the records of a key and its account into this process, and loads them into the limit store
 * if they are missing there. Returns false if the owner knows no such key. Concurrent callers for
 * the same key share one look-up.
 * @throws AdmissionFault
 */
export function populateAccount(decider: DecisionContext, keyReference: KeyReference): Promise<boolean> {
  return decider.populating.join(keyReference.key, async () => {
    const state = await readLoaded(decider, keyReference, []);
    if (state !== null) decider.cache.keepAccount(keyReference, state.key, state.terms, state.termsVersion);
    return state !== null;
  });
}

/**
 * Returns the loaded state of an account with those of the named balances that exist, or null when
 * the owner knows no such key.
 */
export async function readLoaded(
  decider: DecisionContext,
  keyReference: KeyReference,
  rows: readonly string[],
): Promise<ReadState | null> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const { keys, account, key } = keyReference;
    const reply = await runScript(decider.ports.limitStore, buildReadCall(keys, account, key, rows));
    const outcome = parseReadReply(reply, account, key, rows);
    if (outcome.kind === 'read') return outcome.state;
    if (outcome.kind !== 'load') {
      decider.noticeLoss(keys.bucket);
      throw new AdmissionFault('admission_error', `the bucket ${keys.bucket} is ${outcome.kind}`);
    }
    const unknown = await decider.loader.load(keyReference, { ...outcome.needs, startedAt: outcome.now });
    if (unknown.has(key)) return null;
  }
  throw new AdmissionFault('admission_error', 'the account could not be loaded');
}
