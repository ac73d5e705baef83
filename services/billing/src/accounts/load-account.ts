import type { AnswerBodyOf, billingLoad, ReceivedOf } from '@gateway/contracts/messages';
import { pause } from '@gateway/service-kit';
import { composeTerms } from '../subscriptions/terms-rules.js';
import { isSettled } from '../usage/progress-rules.js';
import type { Stream } from '../usage/stream.js';
import type { LoadStore } from './load-store.js';

/** How long a load after a loss of the limit store waits for the stream to be settled. */
export const CATCH_UP_MS = 1_000;
const POLL_MS = 10;

export interface LoadDeps {
  /**
   * Many accounts are loaded at once after a loss of the limit store: calls that are the same for
   * all should be single flights.
   */
  readonly store: LoadStore;
  readonly stream: Pick<Stream, 'state'>;
  /** Whether the database that a snapshot was read from is the ledger (docs/protocol.md#r17). */
  readonly mayUse: (database: string) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type LoadAnswer = { kind: 'loaded'; answer: AnswerBodyOf<typeof billingLoad> } | { kind: 'behind' };

/**
 * Everything that admission needs of an account, in one snapshot. How far the stream is settled is
 * found out before the snapshot is taken, so that all of it is in the snapshot (docs/protocol.md#r9
 * and docs/protocol.md#r11).
 */
export async function loadAccount(deps: LoadDeps, request: ReceivedOf<typeof billingLoad>): Promise<LoadAnswer> {
  const requestedAt = deps.now();
  const caughtUpTo = request.afterLoss ? await waitForStream(deps, requestedAt) : await caughtUpNow(deps, requestedAt);
  if (caughtUpTo === null) return { kind: 'behind' };
  const { account, names, ids } = request;
  const snapshot = await deps.store.snapshot({ account, names, ids, now: requestedAt });
  if (!deps.mayUse(snapshot.database)) return { kind: 'behind' };
  return {
    kind: 'loaded',
    answer: {
      incarnation: snapshot.ledgerEpoch,
      standing: {
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

/** A time before which every stored event is settled. */
async function caughtUpNow({ store, stream }: LoadDeps, requestedAt: number): Promise<number> {
  const state = await stream.state();
  const position = await store.settledPosition();
  return isSettled(position, state) ? requestedAt : Math.min(position.storedAtMs, requestedAt);
}

/**
 * The time of asking, once everything stored before it is settled; null when that takes too long.
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
