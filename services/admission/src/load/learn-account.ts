import { readCall, readReadReply } from '../domain/read-script.js';
import type { ReadState } from '../domain/read-script.js';
import { AdmissionFault } from '../ports.js';
import type { Decider } from './decider.js';
import type { Route } from './known.js';

/** Each round brings something that was missing; more rounds than things to be missing mean a fault. */
const ROUNDS_MAX = 8;

/**
 * Brings the records of key and account to this process, loading them into the gate if they are not there. False: the owner
 * knows no such key. Everybody who needs the same records waits for one look-up.
 * @throws AdmissionFault
 */
export function learnAccount(decider: Decider, route: Route): Promise<boolean> {
  return decider.learning.join(route.key, async () => {
    const state = await readLoaded(decider, route, []);
    if (state !== null) decider.known.keepAccount(route, state.key, state.terms, state.termsVersion);
    return state !== null;
  });
}

/** The loaded state of an account with these rows as far as they are there; null when the owner knows no such key. */
export async function readLoaded(decider: Decider, route: Route, rows: readonly string[]): Promise<ReadState | null> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const reply = await decider.rounds.run(readCall(route.keys, route.account, route.key, rows));
    const outcome = readReadReply(reply, route.account, route.key, rows);
    if (outcome.kind === 'read') return outcome.state;
    if (outcome.kind !== 'load') {
      decider.noticeLoss(route.keys.bucket);
      throw new AdmissionFault('admission_error', `the bucket ${route.keys.bucket} is ${outcome.kind}`);
    }
    const unknown = await decider.loader.load(route, { ...outcome.needs, startedAt: outcome.now });
    if (unknown.has(route.key)) return null;
  }
  throw new AdmissionFault('admission_error', 'the account could not be loaded');
}
