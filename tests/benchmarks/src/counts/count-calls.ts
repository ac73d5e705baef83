import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.js';
import type { GatewayPeer } from '../gateway/start-gateway.js';
import { failuresTotal } from '../load/load-job.js';
import type { LoadResult } from '../load/load-job.js';
import { jobOf } from '../measure.js';
import type { Bench } from '../measure.js';
import type { PeerId } from '../peers/peer.js';
import { AT_A_RATE, FULL_LOAD, ONE_AT_A_TIME, SCENARIOS } from '../scenarios.js';
import { GatewayCounter } from './gateway-counter.js';
import type { WorkCounts } from './gateway-counter.js';

/** Work of a gateway for the calls of one scenario, or its idle work if no call ran. */
export interface CallCounts extends WorkCounts {
  readonly peer: PeerId;
  /** Null if no call ran. */
  readonly scenario: string | null;
  readonly calls: number;
  readonly seconds: number;
}

export const COUNTED = [ONE_AT_A_TIME, FULL_LOAD, AT_A_RATE] as const;
const WARM_UP_SECONDS = 0.3;
/** Time for work that follows a settled call, such as its balance snapshot. */
const QUIET_MS = 1_500;
const IDLE_MS = 5_000;

/**
 * Counts the work that calls cause, outside the timed runs. Reads the counters before the first
 * call and after the last call is settled.
 * @throws Error if a call of this build fails
 */
export async function countCalls(
  bench: Bench,
  gateway: GatewayPeer,
  monitorUrl: string | null,
  seconds: number,
  { log, signal }: BenchContext,
): Promise<{ counts: CallCounts[]; notes: string[] }> {
  const counter = await GatewayCounter.open(gateway, monitorUrl);
  const counts: CallCounts[] = [];
  const notes: string[] = [];
  try {
    for (const scenario of SCENARIOS.filter(({ id }) => COUNTED.some((counted) => counted === id))) {
      signal.throwIfAborted();
      const run = async (until: { readonly seconds: number }): Promise<LoadResult> => {
        const result = await bench.load.run(jobOf(gateway, scenario, until));
        await gateway.settle(result.calls, failuresTotal(result));
        await delay(QUIET_MS, undefined, { signal });
        return result;
      };
      await run({ seconds: WARM_UP_SECONDS });
      let result: LoadResult | undefined;
      const counted = await counter.during(async () => {
        result = await run({ seconds });
      });
      const [calls, failed] = result === undefined ? [0, 0] : [result.calls, failuresTotal(result)];
      const text = `${gateway.title}, counts, ${scenario.title}: ${failed} calls failed`;
      if (failed > 0 && gateway.id === 'gateway') throw new Error(text);
      if (failed > 0) notes.push(text);
      counts.push({ ...counted, peer: gateway.id, scenario: scenario.id, calls, seconds });
    }
    const idle = await counter.during(() => delay(IDLE_MS, undefined, { signal }));
    counts.push({ ...idle, peer: gateway.id, scenario: null, calls: 0, seconds: IDLE_MS / 1_000 });
  } finally {
    await counter.close();
  }
  log(`${gateway.title}: work per call is counted`);
  return { counts, notes: [...notes, ...counter.missing.map((text) => `counts of ${gateway.title}: ${text}`)] };
}
