import { accountRecord, keyRecord, memberRecord } from '@gateway/contracts/messages';
import { isRefusal, notInForce, type ManagementRefusal } from '@gateway/contracts/operator';
import { histogram } from '@gateway/service-kit';
import { z } from 'zod';
import { changeOf, type Versioned } from './rules.js';

/** The response of a change, and the object whose version admission must have before it. */
export interface PendingChange<T> {
  readonly account: string;
  readonly object: Versioned;
  readonly answer: T;
}

/** Waits until admission has this version of an object. Returns false after the timeout. */
export type InForce = ReturnType<typeof createInForce>;

const waits = histogram(
  'gateway_accounts_change_propagation_seconds',
  'Time from the commit of a change until admission applied it, or until the timeout',
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  { outcome: ['propagated', 'overdue'] },
);

/** Creates a wait for a change on the outbox's `awaitDelivered`, with the timeout `waitMs`. */
export function createInForce(
  awaitDelivered: (key: string, change: string, waitMs: number) => Promise<boolean>,
  waitMs: number,
) {
  return async (account: string, changed: Versioned): Promise<boolean> => {
    const begunMs = performance.now();
    const delivered = await awaitDelivered(account, changeOf(changed), waitMs);
    waits.of({ outcome: delivered ? 'propagated' : 'overdue' }).observe((performance.now() - begunMs) / 1_000);
    return delivered;
  };
}

/**
 * Returns the response of a committed change after admission has applied it (docs/protocol.md#r10).
 * A refusal is returned immediately.
 */
export async function answerInForce<T>(
  inForce: InForce,
  changed: PendingChange<T> | ManagementRefusal,
): Promise<T | ManagementRefusal> {
  if (isRefusal(changed)) return changed;
  return (await inForce(changed.account, changed.object)) ? changed.answer : notInForce();
}

/**
 * Like {@link answerInForce}, for a change whose response cannot be requested again. It always
 * returns the response, and `inForce` in it is false after a timeout.
 */
export async function answerWithInForce<T extends object>(
  inForce: InForce,
  changed: PendingChange<T> | ManagementRefusal,
): Promise<(T & { inForce: boolean }) | ManagementRefusal> {
  if (isRefusal(changed)) return changed;
  return { ...changed.answer, inForce: await inForce(changed.account, changed.object) };
}

const MANY_MAX = 100;

/** Body of an outbox row. */
const outboxChange = z.object({
  change: z.string(),
  records: z.object({
    accounts: z.array(accountRecord).max(MANY_MAX).optional(),
    keys: z.array(keyRecord).max(MANY_MAX).optional(),
    members: z.array(memberRecord).max(MANY_MAX).optional(),
  }),
});
type RecordsToApply = z.infer<typeof outboxChange>['records'];

/**
 * Sends admission a change that must be applied before the command's response. Throws until
 * admission has confirmed it.
 */
export async function deliverChange(
  apply: (records: RecordsToApply) => Promise<unknown>,
  row: { readonly body: unknown },
): Promise<void> {
  await apply(outboxChange.parse(row.body).records);
}

/** The parts of a command that responds after admission has its change. */
export interface ChangeDeps<Store> {
  readonly store: Store;
  readonly inForce: InForce;
  readonly nowMs: () => number;
}
