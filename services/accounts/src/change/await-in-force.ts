import { isRefusal, notInForce, type ManagementRefusal } from '@gateway/contracts/operator';
import type { InForce } from '../ports.js';
import type { Versioned } from '../tx-ports.js';

/** What a change made, and the version of which object admission must have before that is the answer. */
export interface Changed<T> {
  readonly account: string;
  readonly object: Versioned;
  readonly answer: T;
}

/**
 * The answer of a committed change once it is in force (docs/protocol.md#r10). A refusal waits for
 * nothing.
 */
export async function answerInForce<T>(
  inForce: InForce,
  changed: Changed<T> | ManagementRefusal,
): Promise<T | ManagementRefusal> {
  if (isRefusal(changed)) return changed;
  return (await inForce(changed.account, changed.object)) ? changed.answer : notInForce();
}

/**
 * As {@link answerInForce}, for a change whose answer nobody can ask for again: it is answered whether or not it is in force, and
 * says which.
 */
export async function answerWithInForce<T extends object>(
  inForce: InForce,
  changed: Changed<T> | ManagementRefusal,
): Promise<(T & { inForce: boolean }) | ManagementRefusal> {
  if (isRefusal(changed)) return changed;
  return { ...changed.answer, inForce: await inForce(changed.account, changed.object) };
}
