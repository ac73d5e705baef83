import type { World } from '../hosts/world.js';
import { GONE_MS } from '../scenario/make-gone.js';
import type { CallTruth } from './call-truth.js';
import type { Refused } from './truth.js';

/**
 * What an edge ran that is long gone refuses nobody, whatever was lost since
 * (docs/protocol.md#r12). Checked where an edge is killed at a time of its own: nothing else takes
 * what its account has.
 */
export function refusedByGone({ truth, time, scenario }: World, call: CallTruth, { row }: Refused): void {
  const killed = scenario.faults.find(({ kind }) => kind === 'edge-killed');
  if (killed === undefined || !('at' in killed)) return;
  if (time.now - time.startedAt > killed.at + GONE_MS)
    truth.broke('what a gone edge ran refuses nobody', `${call.client.id} by row ${row}`);
}
