import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, connectBus } from '@gateway/bus';
import { silentLog, sumOf, sumOfMetric, until } from '@gateway/testkit';
import type { Redis } from 'ioredis';
import { connectRedis } from '../../test/limit-store.js';
import type { OwnSystem } from '../../test/own-system.js';
import { checkEvidence } from '../evidence/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { FAULTS_MIX } from '../load/call-plan.js';
import { seconds, thousands } from '../runner/render-report.js';
import { defineScenario, SEED_OPTION, withSystem } from '../runner/run-scenario.js';
import { judgeExactness, judgeOutage, measureOutage, type OutageSeen, type Sample } from './judge-outage.js';

/** Load before the outage, so that each account is loaded, and after it. */
const AROUND_MS = 6_000;
const WARM_WITHIN_MS = 120_000;
/** More than enough to settle the events of an hour on this machine. */
const CAUGHT_UP_WITHIN_MS = 3_600_000;
const DRAIN_MS = 1_000;
const SAMPLES = 12;
const SAMPLE_MS_MIN = 2_500;
const MINUTE_MS = 60_000;

export const OUTAGE_TOPOLOGY = { isLinked: false } as const;

export const outage = defineScenario({
  name: 'outage',
  title: 'Outage of billing',
  about:
    'all replicas of billing are killed and stay down. Official clients and a plain HTTP client send requests at a constant rate, without waiting for responses, over two edges and two replicas of admission. Then two replicas of billing start under the same load. Five of the eight accounts reach a limit. No request may be refused or broken because of the outage, and limits that requests use up must be used up to the last request.',
  options: {
    minutes: { or: 60, min: 1, max: 1_000 },
    /** The default leaves three quarters of two processors idle. */
    rate: { or: 40, min: 1, max: 1_000 },
    seed: SEED_OPTION,
  },
  play: ({ minutes, rate, seed }, log) => {
    const outageMs = minutes * MINUTE_MS;
    const begun = FaultRun.begin('verify-outage', callsOf(outageMs, rate), OUTAGE_TOPOLOGY);
    return withSystem(begun, async (run) => {
      run.load(FAULTS_MIX, seed, rate);
      const seen = await stopBilling(run, outageMs, log);
      const evidence = await run.evidence();
      const figures = measureOutage(seen, evidence);
      const wrong = [...judgeOutage(figures), ...judgeExactness(evidence)];
      const measures = {
        head: ['Measure', 'value'],
        rows: [
          ['outage, s', figures.seconds.toFixed(1)],
          ['requests offered during the outage', thousands(figures.offered)],
          ['of them with a response', thousands(figures.answered)],
          ['bytes of the stream per stored request', thousands(figures.bytesPerCall.stream)],
          ['bytes of Redis per hold', thousands(figures.bytesPerCall.redis)],
          ['log lines of admission per second, last quarter', figures.logLines.toFixed(1)],
          ['requests to billing per second, last quarter', figures.billingRequests.toFixed(1)],
          ['events that waited for billing', thousands(seen.waiting)],
          ['s until billing had settled them', seconds(seen.caughtUpAt - seen.backAt)],
        ],
        note: 'The clients of the other requests disconnected before the response.',
      };
      return { ...checkEvidence(evidence, wrong), tables: [measures] };
    });
  },
});

export function callsOf(outageMs: number, callsPerSecond: number): number {
  return Math.ceil(((outageMs + 2 * AROUND_MS) / 1_000) * callsPerSecond);
}

/** Kills all replicas of billing, and starts them again after the outage. */
export async function stopBilling(run: FaultRun, outageMs: number, log: (line: string) => void): Promise<OutageSeen> {
  const { system, provider } = run;
  const redis = connectRedis(system.local.servers.redis.url);
  const url = system.local.addresses.natsUrlOf('billing');
  const bus = await connectBus({ url, service: 'billing', replica: 'outage-watch', log: silentLog });
  try {
    await warmUp(run);
    const replicas = system.local.children('billing');
    await Promise.all(replicas.map((child) => child.stop(0, 'SIGKILL')));
    const downAt = Date.now();
    log(`billing is down; ${run.seen.length} calls have ended`);
    const samples = [await readSample(system, redis, bus)];
    const everyMs = Math.max(SAMPLE_MS_MIN, outageMs / SAMPLES);
    for (let now = Date.now(); now < downAt + outageMs; now = Date.now()) {
      await delay(Math.min(everyMs, downAt + outageMs - now));
      samples.push(await readSample(system, redis, bus));
      log(`${run.seen.length} calls; ${JSON.stringify(samples.at(-1))}`);
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
    log(`${waiting} events were settled within ${caughtUpAt - backAt} ms; ${run.seen.length} calls`);
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
async function warmUp({ seen, accounts, edges }: FaultRun): Promise<void> {
  await delay(AROUND_MS);
  const isServed = (account: string, edge: number): boolean =>
    seen.some((call) => call.account === account && call.edge === edge && call.ending === 'whole');
  await until(
    'each account was served at each edge',
    () => accounts.every(({ terms }) => edges.every(({ number }) => isServed(terms.account, number))),
    WARM_WITHIN_MS,
  );
}

/** Reads a sample from a running system. `bus` connects as billing, which owns the stream. */
async function readSample({ local }: OwnSystem, redis: Redis, bus: Bus): Promise<Sample> {
  const admissions = await scrape(local.running().adminUrls['admission'] ?? []);
  const each = (name: string, label?: string) => admissions.map((text) => sumOfMetric(text, name, label) ?? 0);
  const secondsLeft = (store: string): number =>
    Math.min(...each('gateway_admission_store_remaining_seconds', `store="${store}"`));
  const logs = admissions.map((_, index) => `${local.stateDirectory}/logs/admission-${index + 1}.jsonl`);
  return {
    at: Date.now(),
    bytes: {
      stream: (await bus.streamState('USAGE')).bytes,
      redis: Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]),
    },
    holds: Math.max(...each('gateway_admission_holds')),
    billingRequests: sumOf(each('gateway_bus_requests_failed_total', 'message="billing.load"')),
    logLines: sumOf(logs.map((file) => readFileSync(file, 'utf8').split('\n').length - 1)),
    secondsLeft: { redis: secondsLeft('redis'), stream: secondsLeft('stream') },
  };
}

/** Reads the number of usage events that the running replicas of billing have processed. */
async function readSettled({ local }: OwnSystem): Promise<number> {
  const texts = await scrape(local.running().adminUrls['billing'] ?? []);
  return sumOf(texts.map((text) => sumOfMetric(text, 'gateway_billing_usage_events_total') ?? 0));
}

/** Fetches metrics. Skips processes that do not respond, such as one that is starting. */
async function scrape(urls: readonly string[]): Promise<string[]> {
  const read = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();
  const texts = await Promise.all(urls.map((url) => read(url).catch(() => null)));
  return texts.filter((text) => text !== null);
}
