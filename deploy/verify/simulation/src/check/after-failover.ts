import type { World } from '../hosts/world.js';

/** Then a superseded limit store is used by nobody, and all buckets of the other one are open. */
const CALM_MS = 6_000;
const FAULT_FROM = 500;

/**
 * When a superseded limit store has ended calls are answered (docs/protocol.md#r12). Checked where
 * nothing else goes wrong, or the bus is away once before that.
 */
export function faultsAfterFailover({ truth, time, scenario }: World): void {
  const [failover, ...others] = scenario.faults;
  if (failover?.kind !== 'failover') return;
  const endsAt = failover.at + failover.ms;
  if (others.some((fault) => fault.kind !== 'cut' || fault.at + fault.ms > endsAt)) return;
  const calmFrom = time.startedAt + endsAt + CALM_MS;
  for (const { client } of truth.calls) {
    if (client.begunAt >= calmFrom && (client.seen.status ?? 0) >= FAULT_FROM)
      truth.broke('after a failover calls are answered', `${client.id} got ${client.seen.status}`);
  }
}
