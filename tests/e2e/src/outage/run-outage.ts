import { setTimeout as delay } from 'node:timers/promises';
import { connectBus } from '@gateway/bus';
import { silentLog, until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { connectRedis } from '../../test/limit-store.js';
import { FAULTS_MIX } from '../faults/call-plan.js';
import { checkEvidence, type CheckResult } from '../faults/check-evidence.js';
import type { Evidence } from '../faults/evidence.js';
import type { FaultRun } from '../faults/fault-run.js';
import type { RateLoad } from '../faults/rate-load.js';
import { readSample, readSettled, type Sample } from './read-sample.js';

export interface OutageOptions {
  readonly outageMs: number;
  readonly callsPerSecond: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}

/** Start and end of the outage, and the end of the catching up; epoch milliseconds. */
export interface OutageTimes {
  readonly downAt: number;
  readonly backAt: number;
  readonly caughtUpAt: number;
}

export interface OutageFigures extends OutageTimes {
  readonly options: Pick<OutageOptions, 'outageMs' | 'callsPerSecond' | 'seed'>;
  /** Samples from the start to the end of the outage. */
  readonly samples: readonly Sample[];
  /** Events that were waiting when billing came back. */
  readonly waiting: number;
  /** Processor time of billing from its start until it had caught up. */
  readonly billingCpuSeconds: number;
  readonly leftOut: number;
  readonly evidence: Evidence;
  readonly check: CheckResult;
}

/** Load before the outage, so that each account is loaded, and after it. */
const AROUND_MS = 6_000;
const WARM_WITHIN_MS = 120_000;
/** More than enough to settle the events of an hour on this machine. */
const CAUGHT_UP_WITHIN_MS = 3_600_000;
const DRAIN_MS = 1_000;
const SAMPLES = 12;
const SAMPLE_MS_MIN = 2_500;

/** Estimates the number of calls of a run. */
export function callsOf({ outageMs, callsPerSecond }: Pick<OutageOptions, 'outageMs' | 'callsPerSecond'>): number {
  return Math.ceil(((outageMs + 2 * AROUND_MS) / 1_000) * callsPerSecond);
}

/** Kills all replicas of billing under load, and starts them again after the outage. */
export async function runOutage(run: FaultRun, options: OutageOptions): Promise<OutageFigures> {
  const { outageMs, callsPerSecond, seed, log } = options;
  const { system, provider } = run;
  const url = system.local.addresses.natsUrlOf('billing');
  const redis = connectRedis(system.local.servers.redis.url);
  const bus = await connectBus({ url, service: 'billing', replica: 'outage-watch', log: silentLog });
  const load = run.steadyLoad(FAULTS_MIX, new SeededRandom(seed).next, callsPerSecond);
  try {
    await warmUp(run, load);
    const billings = system.local.children('billing');
    await Promise.all(billings.map((child) => child.stop(0, 'SIGKILL')));
    const downAt = Date.now();
    log(`billing is down; ${load.seen.length} calls have ended`);
    const samples = [await readSample(system, redis, bus)];
    const everyMs = Math.max(SAMPLE_MS_MIN, outageMs / SAMPLES);
    for (let now = Date.now(); now < downAt + outageMs; now = Date.now()) {
      await delay(Math.min(everyMs, downAt + outageMs - now));
      const sample = await readSample(system, redis, bus);
      samples.push(sample);
      log(`${load.seen.length} calls; ${JSON.stringify(sample)}`);
    }
    const waiting = new Set(provider.calls.filter(({ begunAt }) => begunAt >= downAt).map(({ n }) => n)).size;
    const backAt = Date.now();
    await Promise.all(billings.map((child) => child.start()));
    const { cpuSeconds: billingCpuSeconds } = await until(
      'billing has settled the waiting events',
      async () => {
        const settled = await readSettled(system);
        return settled.events >= waiting && settled;
      },
      CAUGHT_UP_WITHIN_MS,
    );
    const caughtUpAt = Date.now();
    log(`${waiting} events were settled within ${caughtUpAt - backAt} ms; ${load.seen.length} calls`);
    await delay(AROUND_MS);
    await load.stop();
    const evidence = await run.evidence(load);
    log('checking');
    return {
      options: { outageMs, callsPerSecond, seed },
      downAt,
      backAt,
      caughtUpAt,
      samples,
      waiting,
      billingCpuSeconds,
      leftOut: load.leftOut,
      evidence,
      check: checkEvidence(evidence),
    };
  } finally {
    await load.stop();
    redis.disconnect();
    await bus.drain(DRAIN_MS);
  }
}

/**
 * Waits for a response for each account at each edge, because billing cannot load accounts during
 * the outage.
 */
async function warmUp(run: FaultRun, load: RateLoad): Promise<void> {
  await delay(AROUND_MS);
  const edges = new Set(run.system.local.running().edgeUrls.keys());
  await until(
    'each account was served at each edge',
    () =>
      run.accounts.every(({ terms }) =>
        [...edges].every((edge) =>
          load.seen.some((call) => call.account === terms.account && call.edge === edge && call.ending === 'whole'),
        ),
      ),
    WARM_WITHIN_MS,
  );
}
