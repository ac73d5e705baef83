import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../context.js';
import { GatewayCounter, type Work } from '../gateway/counters.js';
import type { GatewayPeer } from '../gateway/start-gateway.js';
import { type Load, failuresTotal } from '../load/load.js';
import { createJob, runJob } from './measure.js';
import { AT_A_RATE, FULL_LOAD, ONE_AT_A_TIME, SCENARIOS } from './scenarios.js';

/** Work of a gateway for the calls of one scenario, or its idle work if no call ran. */
export interface CallCounts extends Work {
  readonly peer: string;
  /** Null if no call ran. */
  readonly scenario: string | null;
  readonly calls: number;
  readonly seconds: number;
}

const COUNTED = [ONE_AT_A_TIME, FULL_LOAD, AT_A_RATE];
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
  load: Load,
  gateway: GatewayPeer,
  monitorUrl: string | null,
  seconds: number,
  { log, signal }: BenchContext,
): Promise<{ counts: CallCounts[]; notes: string[] }> {
  const counter = new GatewayCounter(gateway, monitorUrl);
  const [counts, notes]: [CallCounts[], string[]] = [[], []];
  for (const scenario of SCENARIOS.filter(({ id }) => COUNTED.includes(id))) {
    signal.throwIfAborted();
    let [calls, failed] = [0, 0];
    const run = async (until: { readonly seconds: number }): Promise<void> => {
      const result = await runJob(load, gateway, createJob(gateway, scenario, until));
      [calls, failed] = [result.calls, failuresTotal(result)];
      await delay(QUIET_MS, undefined, { signal });
    };
    await run({ seconds: WARM_UP_SECONDS });
    const work = await counter.during(() => run({ seconds }));
    const text = `${gateway.title}, counts, ${scenario.title}: ${failed} calls failed`;
    if (failed > 0 && gateway.id === 'gateway') throw new Error(text);
    if (failed > 0) notes.push(text);
    counts.push({ ...work, peer: gateway.id, scenario: scenario.id, calls, seconds });
  }
  const idle = await counter.during(() => delay(IDLE_MS, undefined, { signal }));
  counts.push({ ...idle, peer: gateway.id, scenario: null, calls: 0, seconds: IDLE_MS / 1_000 });
  log(`${gateway.title}: work per call is counted`);
  return { counts, notes };
}
