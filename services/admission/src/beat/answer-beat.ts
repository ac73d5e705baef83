import type { Known } from '../load/known.js';
import type { Beat, Ports } from '../ports.js';
import { settleReleases } from '../settle/settle-releases.js';
import { beatsTotal } from './beat-metrics.js';
import { holdCalls } from './hold-calls.js';

/**
 * Takes one beat: running calls are held on, releases that got no answer are made up for, and the edge is told the tokens
 * under which its calls are held now, and which calls to end.
 */
export async function answerBeat(
  ports: Ports,
  known: Known,
  beat: Beat,
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  const held = await holdCalls(ports, beat.edge, beat.calls, false);
  for (const bucket of held.failed) noticeLoss(bucket);
  const released = await settleReleases(ports, known, beat.releases, noticeLoss);
  beatsTotal.add();
  ports.edges.verdict(beat.edge, {
    n: beat.n,
    chunk: beat.chunk,
    tokens: held.tokens,
    abort: held.abort,
    released,
    now: ports.clock.now(),
  });
}
