import { readFileSync } from 'node:fs';
import type { Bus } from '@gateway/bus';
import { sumOfMetric } from '@gateway/testkit';
import type { Redis } from 'ioredis';
import type { OwnSystem } from '../../test/own-system.js';
import { total } from '../runner/render-report.js';

/** State of the stores and of admission at one time. Counts are totals since the start. */
export interface Sample {
  readonly at: number;
  readonly streamBytes: number;
  readonly redisBytes: number;
  readonly holds: number;
  /** Failed requests to billing from all replicas. */
  readonly billingRequests: number;
  readonly logLines: number;
  /** Seconds until admission stops, as its alarm metric reports; the minimum of all replicas. */
  readonly secondsLeft: { readonly redis: number; readonly stream: number };
}

/** Reads a sample from a running system. `bus` connects as billing, which owns the stream. */
export async function readSample({ local }: OwnSystem, redis: Redis, bus: Bus): Promise<Sample> {
  const admissions = await scrape(local.running().adminUrls['admission'] ?? []);
  const each = (name: string, label?: string) => admissions.map((text) => sumOfMetric(text, name, label) ?? 0);
  const secondsLeft = (store: string): number =>
    Math.min(...each('gateway_admission_store_remaining_seconds', `store="${store}"`));
  const logs = admissions.map((_, index) => `${local.stateDirectory}/logs/admission-${index + 1}.jsonl`);
  return {
    at: Date.now(),
    streamBytes: (await bus.streamState('USAGE')).bytes,
    redisBytes: Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]),
    holds: Math.max(...each('gateway_admission_holds')),
    billingRequests: total(each('gateway_bus_requests_failed_total', 'message="billing.load"')),
    logLines: logs.reduce((lines, file) => lines + readFileSync(file, 'utf8').split('\n').length - 1, 0),
    secondsLeft: { redis: secondsLeft('redis'), stream: secondsLeft('stream') },
  };
}

/** Reads the number of usage events that the running replicas of billing have processed. */
export async function readSettled({ local }: OwnSystem): Promise<number> {
  const texts = await scrape(local.running().adminUrls['billing'] ?? []);
  return total(texts.map((text) => sumOfMetric(text, 'gateway_billing_usage_events_total') ?? 0));
}

/** Fetches metrics. Skips processes that do not respond, such as one that is starting. */
async function scrape(urls: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(
    urls.map((url) =>
      fetch(`${url}/metrics`)
        .then((answer) => answer.text())
        .catch(() => null),
    ),
  );
  return texts.filter((text) => text !== null);
}
