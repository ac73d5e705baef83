import type { World } from '../hosts/world.js';
import { GONE_MS } from '../scenario/make-gone.js';
import type { CallTruth } from './call-truth.js';
import type { Refused } from './truth.js';

/**
 * Checks that calls of an edge that is long gone do not cause refusals, even after a loss of the
 * limit store (docs/protocol.md#r12). Applies only to runs with an `edge-killed` fault: nothing
 * else there uses the account's slots.
 */
export function refusedByGone({ truth, time, scenario }: World, call: CallTruth, { row }: Refused): void {
  const killed = scenario.faults.find(({ kind }) => kind === 'edge-killed');
  if (killed === undefined || !('at' in killed)) return;
  if (time.now - time.startedAt > killed.at + GONE_MS)
    truth.broke('calls of a gone edge cause no refusals', `${call.client.id} by row ${row}`);
}
