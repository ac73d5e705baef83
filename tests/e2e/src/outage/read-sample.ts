import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Bus } from '@gateway/bus';
import { sumOfMetric } from '@gateway/testkit';
import type { Redis } from 'ioredis';
import type { OwnSystem } from '../../test/own-system.js';

/** What the stores and admission were at one moment; counts are since the start. */
export interface Sample {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly streamBytes: number;
  readonly redisBytes: number;
  readonly redisCpuSeconds: number;
  readonly holds: number;
  /** Due holds that sweeps walked through, of all replicas. */
  readonly asked: number;
  /** Questions to billing that were not answered, of all replicas. */
  readonly questions: number;
  /** Lines in the logs of admission. */
  readonly logLines: number;
  /** Until admission stops, as it tells for the alarm: the least of all replicas, seconds. */
  readonly secondsLeft: { readonly redis: number; readonly stream: number };
  /** Of all processors of the machine, whoever used them, seconds. */
  readonly busySeconds: number;
  readonly idleSeconds: number;
}

/** The readings of a running system; `bus` is billing's, which owns the stream. */
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
    asked: total(each('gateway_admission_holds_asked_total')),
    questions: total(each('gateway_bus_calls_failed_total', 'message="billing.load"')),
    logLines: logs.reduce((lines, file) => lines + readFileSync(file, 'utf8').split('\n').length - 1, 0),
    secondsLeft: { redis: secondsLeft('redis'), stream: secondsLeft('stream') },
    busySeconds: total(times.flatMap(({ user, nice, sys, irq }) => [user, nice, sys, irq])) / 1_000,
    idleSeconds: total(times.map(({ idle }) => idle)) / 1_000,
  };
}

/** What has become of usage events in all billings that run, and the processor time they took. */
export async function readSettled({ local }: OwnSystem): Promise<{ events: number; cpuSeconds: number }> {
  const texts = await scrape(local.running().adminUrls['billing'] ?? []);
  const sum = (name: string): number => total(texts.map((text) => sumOfMetric(text, name) ?? 0));
  return { events: sum('gateway_billing_events_total'), cpuSeconds: sum('gateway_process_cpu_seconds') };
}

/** Without those that do not answer, as a process that starts. */
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
