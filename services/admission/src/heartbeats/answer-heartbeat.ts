import { counter } from '@gateway/service-kit';
import { applyReleases } from '../apply/apply-releases.js';
import { runningCalls } from './last-heartbeats-rules.js';
import type { RecordCache } from '../records/record-cache.js';
import type { Heartbeat, Ports } from '../ports.js';
import { holdCalls } from './hold-calls.js';

/**
 * Takes one heartbeat: running calls are held on, releases that got no answer are made up for, and
 * the edge is told the tokens under which its calls are held now, and which calls to end.
 */
export async function answerHeartbeat(
  ports: Ports,
  cache: RecordCache,
  heartbeat: Heartbeat,
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  const held = await holdCalls(ports, heartbeat.edge, runningCalls(heartbeat), false);
  for (const bucket of held.failed) noticeLoss(bucket);
  const released = await applyReleases(ports, cache, heartbeat.releases, noticeLoss);
  heartbeatsTotal.add();
  ports.edges.heartbeatReply(heartbeat.edge, {
    n: heartbeat.n,
    chunk: heartbeat.chunk,
    tokens: held.tokens,
    abort: held.abort,
    released,
    now: ports.clock.now(),
    ...(held.wantsFull && { full: true as const }),
  });
}

export const heartbeatsTotal = counter('gateway_admission_beats_total', 'Beats of edges that were taken');
