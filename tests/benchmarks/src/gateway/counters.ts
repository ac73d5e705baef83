import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createPool } from '@gateway/postgres';
import { silentLog } from '@gateway/testkit';
import { Redis } from 'ioredis';
import type { Peer } from '../edge/scenarios.js';
import { pidsOf, readVariable } from '../machine/processes.js';

const SIZES = `
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float AS "bytes in the write-ahead log of PostgreSQL",
       (SELECT sum(pg_total_relation_size(relation.oid))::float
          FROM pg_class relation JOIN pg_namespace space ON space.oid = relation.relnamespace
         WHERE space.nspname = 'billing' AND relation.relkind IN ('r', 'm')) AS "bytes kept in the ledger, indexes included"`;

/** Work of a gateway by name, between two readings. */
export type Counters = Readonly<Record<string, number>>;

/**
 * Returns the work that a gateway's processes and servers do while `work` runs. It is read from
 * outside, so that any commit can be counted.
 */
export async function countDuring(gateway: Peer, work: () => Promise<unknown>): Promise<Counters> {
  const before = await readCounters(gateway);
  const counted = ['edge-proxy', 'admission'].map((name) => ({ name, end: countInstructions(gateway, name) }));
  await work();
  const instructions: Record<string, number> = {};
  for (const { name, end } of counted) instructions[`instructions of ${name}`] = await end();
  return { ...subtract(await readCounters(gateway), before), ...instructions };
}

async function readCounters({ processes, gateway }: Peer): Promise<Counters> {
  const url = readVariable(processes, 'billing', 'GATEWAY_POSTGRES_URL') ?? '';
  const pool = createPool(url, { applicationName: 'bench', max: 1, log: silentLog });
  const redis = new Redis(readVariable(processes, 'admission', 'GATEWAY_REDIS_URL') ?? '', { lazyConnect: true });
  try {
    const sizes = (await pool.query<Record<string, number>>(SIZES)).rows[0];
    await redis.connect();
    const info = await redis.info('commandstats');
    const bus = gateway?.monitorUrl && (await readBus(gateway.monitorUrl));
    return { ...sizes, 'script runs in Redis': parseScriptRuns(info), ...bus };
  } finally {
    redis.disconnect();
    await pool.end();
  }
}

/** Reads the number of script runs from the response to `INFO commandstats`. */
export function parseScriptRuns(info: string): number {
  const runs = [...info.matchAll(/^cmdstat_(?:evalsha|eval|fcall)(?:_ro)?:calls=(\d+)/gm)];
  return runs.reduce((sum, [, calls]) => sum + Number(calls), 0);
}

/** Reads the bytes on the bus: each message once, and usage again on its way out of its stream. */
async function readBus(monitorUrl: string): Promise<Counters> {
  const read = async <T>(path: string): Promise<T> => (await (await fetch(`${monitorUrl}${path}`)).json()) as T;
  const { in_bytes, in_msgs } = await read<{ in_bytes: number; in_msgs: number }>('/varz');
  const { account_details = [] } = await read<StreamDetails>('/jsz?streams=true');
  const streams = account_details.flatMap(({ stream_detail = [] }) => stream_detail);
  const usage = streams.find(({ name }) => name === 'USAGE')?.state.bytes ?? NaN;
  return { 'bytes on the bus, usage into and out of its stream': in_bytes + usage, 'messages on the bus': in_msgs };
}

interface StreamDetails {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly { readonly name: string; readonly state: { readonly bytes: number } }[];
  }[];
}

/**
 * Counts the instructions of a process with `perf` until the returned function is called. NaN
 * without `perf` or hardware counters, as on most virtual machines.
 */
function countInstructions({ processes }: Peer, name: string): () => Promise<number> {
  const args = ['stat', '-x,', '-e', 'instructions', '-p', pidsOf(processes[name] ?? []).join(',')];
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

/** Returns `after` minus `before` by name. A name without an earlier value counts from zero. */
export function subtract(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]));
}
