import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Bus } from '@gateway/bus';
import { sumOfMetric } from '@gateway/testkit';
import type { Redis } from 'ioredis';
import type { OwnSystem } from '../../test/own-system.js';

/** State of the stores and of admission at one time. Counts are totals since the start. */
export interface Sample {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly streamBytes: number;
  readonly redisBytes: number;
  readonly redisCpuSeconds: number;
  readonly holds: number;
  /** Ledger queries for due holds by the sweeps of all replicas. */
  readonly ledgerQueries: number;
  /** Failed requests to billing from all replicas. */
  readonly billingRequests: number;
  /** Number of lines in the logs of admission. */
  readonly logLines: number;
  /** Seconds until admission stops, as its alarm metric reports; the minimum of all replicas. */
  readonly secondsLeft: { readonly redis: number; readonly stream: number };
  /** Seconds of all processors of the machine, including other programs. */
  readonly busySeconds: number;
  readonly idleSeconds: number;
}

/** Reads a sample from a running system. `bus` connects as billing, which owns the stream. */
export async function readSample({ local }: OwnSystem, redis: Redis, bus: Bus): Promise<Sample> {
  const admissions = await scrape(local.running().adminUrls['admission'] ?? []);
  const each = (name: string, label?: string) => admissions.map((text) => sumOfMetric(text, name, label) ?? 0);
  const secondsLeft = (store: string): number =>
    Math.min(...each('gateway_admission_seconds_left', `store="${store}"`));
  const facts = await redis.info();
  const fact = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(facts)?.[1]);
  const logs = admissions.map((_, index) => `${local.stateDirectory}/logs/admission-${index + 1}.jsonl`);
  const times = cpus().map((cpu) => cpu.times);
  return {
    at: Date.now(),
    streamBytes: (await bus.streamState('USAGE')).bytes,
    redisBytes: fact('used_memory'),
    redisCpuSeconds: fact('used_cpu_user') + fact('used_cpu_sys'),
    holds: Math.max(...each('gateway_admission_holds')),
    ledgerQueries: total(each('gateway_admission_holds_asked_total')),
    billingRequests: total(each('gateway_bus_calls_failed_total', 'message="billing.load"')),
    logLines: logs.reduce((lines, file) => lines + readFileSync(file, 'utf8').split('\n').length - 1, 0),
    secondsLeft: { redis: secondsLeft('redis'), stream: secondsLeft('stream') },
    busySeconds: total(times.flatMap(({ user, nice, sys, irq }) => [user, nice, sys, irq])) / 1_000,
    idleSeconds: total(times.map(({ idle }) => idle)) / 1_000,
  };
}

/**
 * Reads the number of processed usage events and the processor time of all running billing
 * replicas.
 */
export async function readSettled({ local }: OwnSystem): Promise<{ events: number; cpuSeconds: number }> {
  const texts = await scrape(local.running().adminUrls['billing'] ?? []);
  const sum = (name: string): number => total(texts.map((text) => sumOfMetric(text, name) ?? 0));
  return { events: sum('gateway_billing_events_total'), cpuSeconds: sum('gateway_process_cpu_seconds') };
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

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
