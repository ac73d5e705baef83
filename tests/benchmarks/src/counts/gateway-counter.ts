import { readFileSync } from 'node:fs';
import { sumOfMetric } from '@gateway/testkit';
import type { GatewayPeer } from '../gateway/start-gateway.js';
import type { ProcessGroups } from '../machine/read-cpu.js';
import { type Counters, subtractCounters } from './counters.js';
import { readBus } from './read-bus.js';
import { LedgerCounter } from './read-ledger.js';
import { readRedis } from './read-redis.js';
import { type Waits, readWaits, wakeUpsOf } from './wake-ups.js';

const METRICS_MS_MAX = 5_000;
const SUMS = [
  ['admission', 'gateway_admission_batch_entries', 'admissionBatches', 'admissionEntries'],
  ['billing', 'gateway_billing_batch_events', 'settlements', 'settledEvents'],
] as const;

interface Reading {
  readonly counters: Counters;
  readonly tableBytes: Readonly<Record<string, number>>;
  readonly waits: Waits;
}

/** Work of a gateway between two readings. */
export interface WorkCounts {
  readonly counters: Counters;
  /** Growth by table, including its indexes. */
  readonly tableBytes: Readonly<Record<string, number>>;
  /** By process. */
  readonly wakeUps: Readonly<Record<string, number>>;
}

/**
 * Counts the work of a gateway's processes and servers from outside. Unreadable counters are left
 * out, with the reason in `missing`.
 */
export class GatewayCounter {
  readonly missing: string[] = [];

  private constructor(
    private readonly gateway: GatewayPeer,
    private readonly monitorUrl: string | null,
    private readonly ledger: LedgerCounter | null,
  ) {}

  /** @param monitorUrl monitoring port of its NATS, or null */
  static async open(gateway: GatewayPeer, monitorUrl: string | null): Promise<GatewayCounter> {
    const address = readVariable(gateway.processes, 'billing', 'GATEWAY_POSTGRES_URL');
    return new GatewayCounter(gateway, monitorUrl, address === null ? null : await LedgerCounter.open(address));
  }

  /** Returns the work done while `work` runs. */
  async during(work: () => Promise<void>): Promise<WorkCounts> {
    const before = await this.#read();
    await work();
    const after = await this.#read();
    const tables = Object.entries(after.tableBytes);
    return {
      counters: subtractCounters(after.counters, before.counters),
      tableBytes: Object.fromEntries(tables.map(([name, bytes]) => [name, bytes - (before.tableBytes[name] ?? 0)])),
      wakeUps: wakeUpsOf(after.waits, before.waits),
    };
  }

  async close(): Promise<void> {
    await this.ledger?.close();
  }

  async #read(): Promise<Reading> {
    const { processes, except } = this.gateway;
    const { monitorUrl } = this;
    const redisUrl = readVariable(processes, 'admission', 'GATEWAY_REDIS_URL');
    const ledger = await this.#try('the ledger', async () => (this.ledger === null ? null : this.ledger.read()));
    const counters = [
      await this.#try('NATS', async () => (monitorUrl === null ? null : readBus(monitorUrl))),
      await this.#try('Redis', async () => (redisUrl === null ? null : readRedis(redisUrl))),
      await this.#try('metrics', () => this.#metrics()),
    ];
    return {
      counters: Object.assign({}, ledger === null ? {} : { walBytes: ledger.walBytes }, ...counters) as Counters,
      tableBytes: ledger?.tableBytes ?? {},
      waits: readWaits(processes, [...except, this.ledger?.backendPid ?? 0]),
    };
  }

  async #metrics(): Promise<Counters> {
    const counters: Record<string, number> = {};
    for (const [service, metric, observations, sum] of SUMS) {
      const port = readVariable(this.gateway.processes, service, 'GATEWAY_ADMIN_PORT');
      const signal = AbortSignal.timeout(METRICS_MS_MAX);
      const text = await (await fetch(`http://127.0.0.1:${port ?? 0}/metrics`, { signal })).text();
      const [count, total] = [sumOfMetric(text, `${metric}_count`), sumOfMetric(text, `${metric}_sum`)];
      // A histogram without observations may have no series.
      Object.assign(counters, { [observations]: count ?? 0, [sum]: total ?? 0 });
    }
    return counters;
  }

  async #try<T>(what: string, read: () => Promise<T | null>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      const text = `${what}: ${error instanceof Error ? error.message : String(error)}`;
      if (!this.missing.includes(text)) this.missing.push(text);
      return null;
    }
  }
}

/**
 * Returns an environment variable with which a gateway's process was started, or null if the
 * variable or the process does not exist. Addresses are found this way at every commit, even if its
 * code does not return them. @throws Error if the process has ended
 */
export function readVariable(groups: ProcessGroups, process: string, variable: string): string | null {
  const pid = groups[process]?.[0];
  if (pid === undefined) return null;
  const prefix = `${variable}=`;
  const entry = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .find((text) => text.startsWith(prefix));
  return entry?.slice(prefix.length) ?? null;
}
