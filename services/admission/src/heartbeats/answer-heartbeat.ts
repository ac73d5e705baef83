import { counter } from '@gateway/service-kit';
import { applyReleases } from '../apply/apply-releases.js';
import { listRunningCalls } from './last-heartbeats-rules.js';
import type { RecordCache } from '../records/record-cache.js';
import type { Heartbeat, Ports } from '../ports.js';
import { extendHolds } from './extend-holds.js';

/**
 * Processes one heartbeat: extends the holds of running calls, applies unacknowledged releases, and
 * replies with the current epochs of the calls' buckets and with the calls to end.
 */
export async function answerHeartbeat(
  ports: Ports,
  cache: RecordCache,
  heartbeat: Heartbeat,
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  const held = await extendHolds(ports, heartbeat.edge, listRunningCalls(heartbeat), false);
  for (const bucket of held.failed) noticeLoss(bucket);
  const released = await applyReleases(ports, cache, heartbeat.releases, noticeLoss);
  heartbeatsTotal.add();
  ports.edges.heartbeatReply(heartbeat.edge, {
    n: heartbeat.n,
    chunk: heartbeat.chunk,
    epochs: held.epochs,
    abort: held.abort,
    released,
    now: ports.clock.now(),
    ...(held.wantsFull && { full: true as const }),
  });
}

export const heartbeatsTotal = counter('gateway_admission_heartbeats_total', 'Heartbeats of edges that were processed');
