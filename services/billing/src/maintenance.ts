import { REFUSED_KEPT_MS } from '@gateway/contracts/messages';
import { type Background, type Clock, counter, every, gauge } from '@gateway/service-kit';
import type { Months } from './ledger/months.js';
import type { RefusedStore } from './records/refused-store.js';
import type { ProgressStore } from './stream/progress-store.js';
import { type Progress, TRACK_MS, trackProgress, TRIM_MS, trimStream } from './stream/progress.js';
import type { Stream } from './stream/stream.js';

/** Interval for creating the months ahead. */
const MONTHS_MS = 3_600_000;
/** Interval for deleting expired refused calls. */
const DELETE_OLD_MS = 600_000;

export interface MaintenanceDeps {
  readonly store: ProgressStore;
  readonly stream: Stream;
  readonly months: Months;
  readonly refused: Pick<RefusedStore, 'deleteOld'>;
  readonly clock: Clock;
  readonly log: { warn(facts: object, text: string): void };
}

/**
 * Runs the periodic tasks of the service: tracks and trims the stream, creates months ahead,
 * deletes expired refused calls, and exports the lag metrics.
 */
export function startMaintenance(deps: MaintenanceDeps): { stop(): Promise<void> } {
  const { store, stream, months, refused, clock, log } = deps;
  let progress: Progress | null = null;
  const trimmed = counter('gateway_billing_stream_trims_total', 'Deletions of settled messages from the stream');
  gauge('gateway_billing_lag_messages', 'Stored messages after the contiguous settled run', () =>
    lagMessages(progress),
  );
  gauge('gateway_billing_lag_seconds', 'Upper bound of the age of the oldest unsettled message', () =>
    lagSeconds(progress, clock.nowMs()),
  );
  const loop = (ms: number, text: string, work: () => Promise<void>): Background =>
    every(ms, work, { failed: (err) => log.warn({ err }, text) });
  const loops = [
    loop(TRACK_MS, 'the stream progress could not be read; will retry', async () => {
      progress = await trackProgress(store, stream, log);
    }),
    loop(TRIM_MS, 'the stream could not be trimmed; will retry', async () => {
      if ((await trimStream(store, stream)) > 0) trimmed.add(1);
    }),
    loop(MONTHS_MS, 'months could not be created ahead; will retry', () => months.makeAhead(clock.nowMs())),
    loop(DELETE_OLD_MS, 'expired refused calls could not be deleted; will retry', () =>
      refused.deleteOld(clock.nowMs() - REFUSED_KEPT_MS),
    ),
  ];
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

function lagMessages(progress: Progress | null): number {
  return progress === null ? 0 : Math.max(0, progress.stream.lastSequence - progress.position.sequence);
}

function lagSeconds(progress: Progress | null, now: number): number {
  if (progress === null || lagMessages(progress) === 0) return 0;
  const since = progress.position.storedAtMs || (progress.stream.firstAtMs ?? now);
  return Math.max(0, now - since) / 1_000;
}
