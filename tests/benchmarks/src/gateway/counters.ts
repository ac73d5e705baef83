import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sumOfMetric } from '@gateway/testkit';
import { Redis } from 'ioredis';
import pg from 'pg';
import { type Waits, pidsOf, readVariable, readWaits, wakeUpsBetween } from '../machine/processes.js';
import { subtract } from '../statistics.js';
import type { GatewayPeer } from './start-gateway.js';

const TIMEOUT_MS = 10_000;
/** Sums and counts of these histograms: entries of messages to admission, events of settlements. */
const HISTOGRAMS = [
  ['admission', 'gateway_admission_batch_entries', 'admissionBatches', 'admissionEntries'],
  ['billing', 'gateway_billing_batch_events', 'settlements', 'settledEvents'],
] as const;
const TABLE_SIZES = `
SELECT replace(coalesce(pg_partition_root(relation.oid), relation.oid)::regclass::text, 'billing.', '') AS name,
       sum(pg_total_relation_size(relation.oid))::float AS bytes
  FROM pg_class relation JOIN pg_namespace space ON space.oid = relation.relnamespace
 WHERE space.nspname = 'billing' AND relation.relkind IN ('r', 'm')
 GROUP BY 1`;
const WAL = `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float AS bytes, pg_backend_pid() AS pid`;

/** Values by name. */
export type Counters = Readonly<Record<string, number>>;

/** Work of a gateway between two readings. */
export interface Work {
  readonly counters: Counters;
  /** Growth by table of billing, including its partitions and indexes. */
  readonly tableBytes: Readonly<Record<string, number>>;
  /** By process. */
  readonly wakeUps: Readonly<Record<string, number>>;
}

interface Reading extends Pick<Work, 'counters' | 'tableBytes'> {
  readonly waits: Waits;
}

/**
 * Counts the work of a gateway's processes and servers from outside, so that any commit can be
 * counted. @throws Error if a counter cannot be read
 */
export class GatewayCounter {
  /** @param monitorUrl monitoring port of its NATS, or null */
  constructor(
    private readonly gateway: GatewayPeer,
    private readonly monitorUrl: string | null,
  ) {}

  /** Returns the work done while `work` runs. */
  async during(work: () => Promise<unknown>): Promise<Work> {
    const postgres = new pg.Client({
      connectionString: this.#variable('billing', 'GATEWAY_POSTGRES_URL'),
      query_timeout: TIMEOUT_MS,
    });
    postgres.on('error', () => undefined);
    await postgres.connect();
    try {
      const before = await this.#read(postgres);
      const endInstructions = countInstructions(pidsOf(Object.values(this.gateway.processes).flat()));
      await work();
      const instructions = await endInstructions();
      const after = await this.#read(postgres);
      return {
        counters: { ...subtract(after.counters, before.counters), instructions },
        tableBytes: subtract(after.tableBytes, before.tableBytes),
        wakeUps: wakeUpsBetween(before.waits, after.waits),
      };
    } finally {
      await postgres.end();
    }
  }

  async #read(postgres: pg.Client): Promise<Reading> {
    const { rows: tables } = await postgres.query<{ name: string; bytes: number }>(TABLE_SIZES);
    const { rows: wal } = await postgres.query<{ bytes: number; pid: number }>(WAL);
    const counters = [
      this.monitorUrl === null ? {} : await readBus(this.monitorUrl),
      await readRedis(this.#variable('admission', 'GATEWAY_REDIS_URL')),
      await this.#readHistograms(),
    ];
    return {
      counters: Object.assign({ walBytes: wal[0]?.bytes ?? NaN }, ...counters) as Counters,
      tableBytes: Object.fromEntries(tables.map(({ name, bytes }) => [name, bytes])),
      waits: readWaits(this.gateway.processes, [...this.gateway.except, wal[0]?.pid ?? 0]),
    };
  }

  async #readHistograms(): Promise<Counters> {
    const counters: Record<string, number> = {};
    for (const [service, metric, observations, sum] of HISTOGRAMS) {
      const url = `http://127.0.0.1:${this.#variable(service, 'GATEWAY_ADMIN_PORT')}/metrics`;
      const text = await (await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })).text();
      // A histogram without observations may have no series.
      counters[observations] = sumOfMetric(text, `${metric}_count`) ?? 0;
      counters[sum] = sumOfMetric(text, `${metric}_sum`) ?? 0;
    }
    return counters;
  }

  #variable(service: string, name: string): string {
    const value = readVariable(this.gateway.processes, service, name);
    if (value === null) throw new Error(`${service} has no ${name}`);
    return value;
  }
}

/**
 * Counts the instructions of processes with `perf` until the returned function is called. NaN
 * without `perf` or hardware counters, as on most virtual machines.
 */
function countInstructions(pids: readonly number[]): () => Promise<number> {
  const args = ['stat', '-x,', '-e', 'instructions', '-p', pids.join(',')];
  const perf = spawn('perf', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  perf.stderr.on('data', (bytes: Buffer) => (text += bytes.toString()));
  const ended = once(perf, 'close').catch(() => undefined);
  return async () => {
    perf.kill('SIGINT');
    await ended;
    return parseInstructions(text);
  };
}

/** Parses the output of `perf stat -x,`. */
export function parseInstructions(text: string): number {
  return Number(/^(\d+),[^,]*,instructions/m.exec(text)?.[1] ?? NaN);
}

interface Varz {
  readonly in_msgs: number;
  readonly out_msgs: number;
  readonly in_bytes: number;
  readonly out_bytes: number;
}

interface Jsz {
  readonly account_details?: readonly { readonly stream_detail?: readonly StreamDetail[] }[];
}

interface StreamDetail {
  readonly name: string;
  readonly state: { readonly bytes: number; readonly last_seq: number };
}

/** Reads the counters of NATS since its start from its monitoring port. */
async function readBus(monitorUrl: string): Promise<Counters> {
  const read = async (path: string): Promise<unknown> =>
    (await fetch(`${monitorUrl}${path}`, { signal: AbortSignal.timeout(TIMEOUT_MS) })).json();
  const [varz, jsz] = (await Promise.all([read('/varz'), read('/jsz?streams=true')])) as [Varz, Jsz];
  const streams = (jsz.account_details ?? []).flatMap(({ stream_detail }) => stream_detail ?? []);
  const usage = streams.find(({ name }) => name === 'USAGE')?.state;
  return {
    busMessagesIn: varz.in_msgs,
    busMessagesOut: varz.out_msgs,
    busBytesIn: varz.in_bytes,
    busBytesOut: varz.out_bytes,
    ...(usage === undefined ? {} : { usageMessages: usage.last_seq, usageBytes: usage.bytes }),
  };
}

/** Reads the counters of Redis since its start, with the user in the address. */
async function readRedis(address: string): Promise<Counters> {
  const redis = new Redis(address, { lazyConnect: true, retryStrategy: () => null, commandTimeout: TIMEOUT_MS });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return parseRedisInfo(await redis.info('everything'));
  } finally {
    redis.disconnect();
  }
}

const SCRIPTS = /^(?:evalsha|eval|fcall)(?:_ro)?$/;
/** Commands that the counting itself sends. */
const OWN = /^(?:info|auth|hello|client\|.*|quit)$/;

/** Reads the counters from the response to `INFO everything`. */
export function parseRedisInfo(info: string): Counters {
  const field = (name: string, as: string): Counters => {
    const value = new RegExp(`^${name}:(\\d+)\\r?$`, 'm').exec(info)?.[1];
    return value === undefined ? {} : { [as]: Number(value) };
  };
  let [redisScripts, redisCommands] = [0, 0];
  for (const [, name = '', calls = ''] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (SCRIPTS.test(name)) redisScripts += Number(calls);
    else if (!OWN.test(name)) redisCommands += Number(calls);
  }
  return {
    redisScripts,
    redisCommands,
    ...field('total_net_input_bytes', 'redisBytesIn'),
    ...field('aof_current_size', 'redisAppendedBytes'),
  };
}
