import type { World } from '../hosts/world.js';
import type { Fault } from '../scenario/scenario.js';

/** Then a superseded limit store is used by nobody, and all buckets of the other one are open. */
const CALM_MS = 6_000;
const FAULT_FROM = 500;

/** So long a bucket is restored at most: some edge may be unable to quote its epoch. */
const RESTORING_MS = 12_000;

/**
 * When a superseded limit store has ended calls are answered (docs/protocol.md#r12), and when one
 * that was emptied while no replica was there is restored. Checked where nothing else goes wrong,
 * or the bus is away once before that.
 */
export function faultsAfterFailover({ truth, time, scenario }: World): void {
  const endsAt = endOf(scenario.faults);
  if (endsAt === null) return;
  const calmFrom = time.startedAt + endsAt + CALM_MS;
  for (const { client } of truth.calls) {
    if (client.begunAt >= calmFrom && (client.seen.status ?? 0) >= FAULT_FROM)
      truth.broke('after a failover calls are answered', `${client.id} got ${client.seen.status}`);
  }
}

/** When what happened to the limit store ended, ms from the start; null: that cannot be said. */
function endOf([first, ...others]: readonly Fault[]): number | null {
  if (first?.kind === 'away' && others.every((fault) => fault.kind === 'limit-store' && fault.how === 'flush'))
    return first.at + first.ms + RESTORING_MS;
  if (first?.kind !== 'failover') return null;
  const endsAt = first.at + first.ms;
  return others.every((fault) => fault.kind === 'cut' && fault.at + fault.ms <= endsAt) ? endsAt : null;
}
