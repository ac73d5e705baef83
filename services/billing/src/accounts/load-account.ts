import type { AnswerBodyOf, billingLoad, ReceivedOf } from '@gateway/contracts/messages';
import { pause } from '@gateway/service-kit';
import { composeTerms } from '../subscriptions/terms-rules.js';
import { isSettled } from '../stream/progress-rules.js';
import type { Stream } from '../stream/stream.js';
import type { LoadStore } from './load-store.js';

/** Timeout for settling the stream before a load that follows a loss of the limit store. */
export const CATCH_UP_MS = 1_000;
const POLL_MS = 10;

export interface LoadDeps {
  /**
   * After a loss of the limit store many accounts are loaded at the same time. Queries that are the
   * same for all accounts should be single flights.
   */
  readonly store: LoadStore;
  readonly stream: Pick<Stream, 'state'>;
  /** Returns true if the database of the snapshot is the ledger (docs/protocol.md#r17). */
  readonly mayUse: (database: string) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type LoadAnswer = { kind: 'loaded'; answer: AnswerBodyOf<typeof billingLoad> } | { kind: 'behind' };

/**
 * Reads everything that admission needs for an account, in one snapshot. The settled position of
 * the stream is read before the snapshot, so that the snapshot contains every event up to that
 * position (docs/protocol.md#r9 and docs/protocol.md#r11).
 */
export async function loadAccount(deps: LoadDeps, request: ReceivedOf<typeof billingLoad>): Promise<LoadAnswer> {
  const requestedAt = deps.now();
  const caughtUpTo = request.afterLoss
    ? await waitForStream(deps, requestedAt)
    : await computeCaughtUpTo(deps, requestedAt);
  if (caughtUpTo === null) return { kind: 'behind' };
  const { account, names, ids } = request;
  const snapshot = await deps.store.snapshot({ account, names, ids, now: requestedAt });
  if (!deps.mayUse(snapshot.database)) return { kind: 'behind' };
  return {
    kind: 'loaded',
    answer: {
      ledgerEpoch: snapshot.ledgerEpoch,
      snapshot: {
        account,
        rows: [...snapshot.rows],
        terms: { value: composeTerms(snapshot.published, snapshot.limits), version: snapshot.termsVersion },
        closed: [...snapshot.closed],
      },
      caughtUpTo,
      version: snapshot.version,
    },
  };
}

/** Returns a time before which every stored event is settled. */
async function computeCaughtUpTo({ store, stream }: LoadDeps, requestedAt: number): Promise<number> {
  const state = await stream.state();
  const position = await store.settledPosition();
  return isSettled(position, state) ? requestedAt : Math.min(position.storedAtMs, requestedAt);
}

/**
 * Waits until every event that was stored before the request is settled, and returns the time of
 * the request. Returns null after CATCH_UP_MS.
 */
export async function waitForStream(
  { store, stream }: { readonly store: Pick<LoadStore, 'settledPosition'>; readonly stream: LoadDeps['stream'] },
  requestedAt: number,
): Promise<number | null> {
  const state = await stream.state();
  const untilMs = performance.now() + CATCH_UP_MS;
  for (;;) {
    if (isSettled(await store.settledPosition(), state)) return requestedAt;
    if (performance.now() > untilMs) return null;
    await pause(POLL_MS);
  }
}
