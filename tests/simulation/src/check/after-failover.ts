import type { World } from '../hosts/world.js';
import type { Fault } from '../scenario/scenario.js';

/** After this time no superseded limit store is used and all buckets are open. */
const CALM_MS = 6_000;
const FAULT_FROM = 500;

/** The longest restore of a bucket: an edge may be unable to report its epoch. */
const RESTORING_MS = 12_000;

/**
 * Checks that calls are answered after a superseded limit store has ended (docs/protocol.md#r12),
 * and after the restore of a limit store that was emptied while no replica ran. Applies only if
 * nothing else goes wrong, or the bus is away once before that.
 */
export function checkAnsweredAfterFailover({ truth, time, scenario }: World): void {
  const endsAt = findFaultEnd(scenario.faults);
  if (endsAt === null) return;
  const calmFrom = time.startedAt + endsAt + CALM_MS;
  for (const { client } of truth.calls) {
    if (client.begunAt >= calmFrom && (client.seen.status ?? 0) >= FAULT_FROM)
      truth.broke('calls are answered after a failover', `${client.id} got ${client.seen.status}`);
  }
}

/** Time when the fault of the limit store ended, ms from the start. Null if it is unknown. */
function findFaultEnd([first, ...others]: readonly Fault[]): number | null {
  if (first?.kind === 'away' && others.every((fault) => fault.kind === 'limit-store' && fault.how === 'flush'))
    return first.at + first.ms + RESTORING_MS;
  if (first?.kind !== 'failover') return null;
  const endsAt = first.at + first.ms;
  return others.every((fault) => fault.kind === 'cut' && fault.at + fault.ms <= endsAt) ? endsAt : null;
}
