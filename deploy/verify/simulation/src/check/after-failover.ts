import type { World } from '../hosts/world.js';

/** Then a superseded limit store is used by nobody, and all buckets of the other one are open. */
const CALM_MS = 6_000;
const FAULT_FROM = 500;

/**
 * When a superseded limit store has ended calls are answered (docs/protocol.md#r12). Checked where
 * nothing else goes wrong.
 */
export function faultsAfterFailover({ truth, time, scenario }: World): void {
  const [failover, ...others] = scenario.faults;
  if (failover?.kind !== 'failover' || others.length > 0) return;
  const calmFrom = time.startedAt + failover.at + failover.ms + CALM_MS;
  for (const { client } of truth.calls) {
    if (client.begunAt >= calmFrom && (client.seen.status ?? 0) >= FAULT_FROM)
      truth.broke('after a failover calls are answered', `${client.id} got ${client.seen.status}`);
  }
}
