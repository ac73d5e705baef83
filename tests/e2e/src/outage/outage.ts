import { setTimeout as delay } from 'node:timers/promises';
import { connectBus } from '@gateway/bus';
import { computeOutageMinutes } from './outage-minutes.js';
import { silentLog, until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { connectRedis } from '../../test/limit-store.js';
import { checkEvidence } from '../evidence/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { FAULTS_MIX } from '../load/call-plan.js';
import type { FaultLoad } from '../load/loads.js';
import { seconds, thousands } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { judgeExactness, judgeOutage } from './judge-outage.js';
import { measureOutage, type OutageSeen } from './measure-outage.js';
import { readSample, readSettled } from './read-sample.js';

/** Load before the outage, so that each account is loaded, and after it. */
const AROUND_MS = 6_000;
const WARM_WITHIN_MS = 120_000;
/** More than enough to settle the events of an hour on this machine. */
const CAUGHT_UP_WITHIN_MS = 3_600_000;
const DRAIN_MS = 1_000;
const SAMPLES = 12;
const SAMPLE_MS_MIN = 2_500;
const MINUTE_MS = 60_000;
const GIBIBYTE = 1024 ** 3;
const RATES = [100, 1_000] as const;
/** The first size is the one in the chart and its notes. The second is enough for an hour. */
const SIZES = [
  { text: 'stream of 4 GiB, Redis of 1 GB', streamBytes: 4 * GIBIBYTE, redisBytes: GIBIBYTE },
  { text: 'stream of 10 GiB, Redis of 2 GB', streamBytes: 10 * GIBIBYTE, redisBytes: 2 * GIBIBYTE },
] as const;

interface Outage {
  readonly outageMs: number;
  readonly callsPerSecond: number;
  readonly seed: number;
}

export const OUTAGE_TOPOLOGY = { isLinked: false } as const;

export const outage = runnable({
  name: 'outage',
  title: 'Outage of billing',
  about:
    'all replicas of billing are killed and stay down. Official clients and raw sockets make requests at a constant rate over two edges and two replicas of admission. Then two replicas of billing start under the same load. Five of the eight accounts reach a limit. No request may be refused or broken because of the outage, and limits that requests use up must be used up to the last request.',
  options: {
    minutes: { or: 60, min: 1, max: 1_000 },
    /** The default leaves three quarters of two processors idle. */
    rate: { or: 40, min: 1, max: 1_000 },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
  },
  topology: OUTAGE_TOPOLOGY,
  start: (topology, { minutes, rate }) => FaultRun.begin('verify-outage', callsOf(minutes * MINUTE_MS, rate), topology),
  load: (run, { rate, seed }) => startOutageLoad(run, { callsPerSecond: rate, seed }),
  fault: (run, { load, options: { minutes }, log }) => stopBilling(run, load, minutes * MINUTE_MS, log),
  judge: async (run, seen, load) => {
    const evidence = await run.evidence(load);
    const { violations, counterExample } = checkEvidence(evidence);
    const measures = measureOutage(seen, evidence);
    return {
      violations: [...judgeOutage(measures, seen.samples), ...judgeExactness(evidence), ...violations],
      counterExample,
      figures: {
        ...measures,
        calls: evidence.calls.length,
        waiting: seen.waiting,
        caughtUpMs: seen.caughtUpAt - seen.backAt,
      },
    };
  },
  report: (rounds) =>
    rounds.flatMap(({ figures: { calls, waiting, caughtUpMs, bytesPerCall, ...measures } }) => [
      {
        head: ['Per second of the outage', 'first quarter', 'last quarter'],
        rows: (['logLines', 'billingRequests'] as const).map((name) => {
          const { first, last } = measures[name];
          return [
            name === 'logLines' ? 'log lines of admission' : 'requests to billing',
            first.toFixed(1),
            last.toFixed(1),
          ];
        }),
        note: `${thousands(calls)} requests. The outage took ${measures.seconds.toFixed(1)} s. Billing settled ${thousands(waiting)} events within ${seconds(caughtUpMs)} s of its start. ${thousands(measures.stored)} stored requests took ${thousands(bytesPerCall.stream)} bytes of the stream each, ${thousands(measures.held)} holds ${thousands(bytesPerCall.redis)} bytes of Redis.`,
      },
      {
        head: ['Sizes', ...RATES.map((rate) => `minutes at ${thousands(rate)} requests/s`)],
        rows: SIZES.map(({ text, ...sizes }) => [
          text,
          ...RATES.map((rate) => thousands(computeOutageMinutes(sizes, rate, bytesPerCall))),
        ]),
        note: 'How long production can run without billing in the worst case: half of the stream is settled and kept for its hour, and Redis holds 100,000 accounts.',
      },
    ]),
});

export function callsOf(outageMs: number, callsPerSecond: number): number {
  return Math.ceil(((outageMs + 2 * AROUND_MS) / 1_000) * callsPerSecond);
}

export function startOutageLoad(run: FaultRun, { callsPerSecond, seed }: Omit<Outage, 'outageMs'>): FaultLoad {
  return run.load(FAULTS_MIX, new SeededRandom(seed).next, callsPerSecond);
}

/** Kills all replicas of billing, and starts them again after the outage. */
export async function stopBilling(
  run: FaultRun,
  load: FaultLoad,
  outageMs: number,
  log: (line: string) => void,
): Promise<OutageSeen> {
  const { system, provider } = run;
  const redis = connectRedis(system.local.servers.redis.url);
  const url = system.local.addresses.natsUrlOf('billing');
  const bus = await connectBus({ url, service: 'billing', replica: 'outage-watch', log: silentLog });
  try {
    await warmUp(run, load);
    const replicas = system.local.children('billing');
    await Promise.all(replicas.map((child) => child.stop(0, 'SIGKILL')));
    const downAt = Date.now();
    log(`billing is down; ${load.seen.length} calls have ended`);
    const samples = [await readSample(system, redis, bus)];
    const everyMs = Math.max(SAMPLE_MS_MIN, outageMs / SAMPLES);
    for (let now = Date.now(); now < downAt + outageMs; now = Date.now()) {
      await delay(Math.min(everyMs, downAt + outageMs - now));
      samples.push(await readSample(system, redis, bus));
      log(`${load.seen.length} calls; ${JSON.stringify(samples.at(-1))}`);
    }
    const waiting = new Set(provider.calls.filter(({ begunAt }) => begunAt >= downAt).map(({ n }) => n)).size;
    const backAt = Date.now();
    await Promise.all(replicas.map((child) => child.start()));
    await until(
      'billing has settled the waiting events',
      async () => (await readSettled(system)) >= waiting,
      CAUGHT_UP_WITHIN_MS,
    );
    const caughtUpAt = Date.now();
    log(`${waiting} events were settled within ${caughtUpAt - backAt} ms; ${load.seen.length} calls`);
    await delay(AROUND_MS);
    return { downAt, backAt, caughtUpAt, samples, waiting };
  } finally {
    redis.disconnect();
    await bus.drain(DRAIN_MS);
  }
}

/**
 * Waits for a response for each account at each edge, because billing cannot load accounts during
 * the outage.
 */
async function warmUp(run: FaultRun, load: FaultLoad): Promise<void> {
  await delay(AROUND_MS);
  const edges = [...run.system.local.running().edgeUrls.keys()];
  const isServed = (account: string, edge: number): boolean =>
    load.seen.some((call) => call.account === account && call.edge === edge && call.ending === 'whole');
  await until(
    'each account was served at each edge',
    () => run.accounts.every(({ terms }) => edges.every((edge) => isServed(terms.account, edge))),
    WARM_WITHIN_MS,
  );
}
