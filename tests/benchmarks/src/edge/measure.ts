import { type ExpectedResponse, type Load, type LoadJob, type LoadResult, failuresTotal } from '../load/load.js';
import { readCpu } from '../machine/processes.js';
import { type CallKind, type Peer, STREAM_CHUNKS } from '../peers/peer.js';
import { subtract, sumOf } from '../statistics.js';
import { LONG_SHARE, type Scenario, requestBody } from './scenarios.js';

const CHUNK_BYTES_MIN = 50;
const PLAIN: ExpectedResponse = { bytesMin: 1_000, endsWith: '}' };
const WARM_UP_SECONDS = 0.3;
const IDLE_MS = 5_000;

/** One measurement of one peer in one scenario and round. CPU in microseconds. */
export interface Sample {
  readonly round: number;
  readonly scenario: string;
  readonly peer: string;
  /** `failures` include those of the warm-up. */
  readonly result: LoadResult;
  /** Failed calls, including those of the warm-up. */
  readonly failed: number;
  /** By process. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** CPU of load and provider together. */
  readonly loadMicros: number;
}

/** CPU of a gateway while no call runs. */
export interface IdleReading {
  readonly round: number;
  readonly peer: string;
  /** Microseconds per second, by process. */
  readonly cpuMicrosPerSecond: Readonly<Record<string, number>>;
}

/** Returns the load job of a scenario for a peer. */
export function createJob(peer: Peer, scenario: Omit<Scenario, 'id' | 'title'>, until: LoadJob['until']): LoadJob {
  const ofKind = (kind: CallKind) => {
    const isPlain = kind === 'plain' || kind === 'large';
    const expected = isPlain ? PLAIN : { bytesMin: STREAM_CHUNKS[kind] * CHUNK_BYTES_MIN, endsWith: 'data: [DONE]' };
    return { body: requestBody(peer.models[kind], kind), expected };
  };
  const isMixed = scenario.kind === 'mixed';
  return {
    port: peer.port,
    headers: peer.headers,
    ...ofKind(scenario.kind === 'mixed' ? 'plain' : scenario.kind),
    ...(isMixed ? { among: { ...ofKind('long'), share: LONG_SHARE } } : {}),
    keysOf: peer.keyed ? nameKeys(peer, scenario.accounts) : null,
    connections: scenario.connections,
    perSecond: scenario.perSecond ?? null,
    rampMs: 0,
    until,
  };
}

/** Returns the name under which the load stores the keys of a gateway's accounts. */
export function nameKeys({ id }: Pick<Peer, 'id'>, accounts?: Scenario['accounts']): string {
  return accounts === undefined ? id : `${id}, ${accounts}`;
}

/** Runs a job and waits until the peer has finished its work. */
export async function runJob(load: Load, peer: Peer, job: LoadJob): Promise<LoadResult> {
  const result = await load.run(job);
  await peer.settle(result.calls, failuresTotal(result));
  return result;
}

/**
 * Runs one measurement: a short warm-up, then the load between two CPU readings. The second reading
 * waits until the calls' work is done, so that billing a call is included.
 */
export async function measure(
  load: Load,
  peer: Peer,
  scenario: Scenario,
  round: number,
  seconds: number,
): Promise<Sample> {
  const warmUp = await runJob(load, peer, createJob(peer, scenario, { seconds: Math.min(seconds, WARM_UP_SECONDS) }));
  const before = readCpu(peer.processes, peer.except);
  const loadBefore = readCpu(load.processes);
  const result = await load.run(createJob(peer, scenario, { seconds }));
  const loadAfter = readCpu(load.processes);
  await peer.settle(result.calls, failuresTotal(result));
  const after = readCpu(peer.processes, peer.except);
  const failures: Record<string, number> = { ...result.failures };
  for (const [reason, count] of Object.entries(warmUp.failures)) failures[reason] = (failures[reason] ?? 0) + count;
  return {
    round,
    scenario: scenario.id,
    peer: peer.id,
    result: { ...result, failures },
    failed: failuresTotal({ failures }),
    cpuMicros: subtract(after, before),
    loadMicros: sumOf(Object.values(subtract(loadAfter, loadBefore))),
  };
}

/** Measures the CPU of these peers while no call runs, all in the same seconds. */
export async function measureIdle(peers: readonly Peer[], round: number): Promise<IdleReading[]> {
  const read = () => peers.map((peer) => readCpu(peer.processes, peer.except));
  const [before, startedAt] = [read(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, peers.length === 0 ? 0 : IDLE_MS));
  const [after, seconds] = [read(), (performance.now() - startedAt) / 1000];
  return peers.map(({ id }, at) => {
    const used = Object.entries(subtract(after[at] ?? {}, before[at] ?? {}));
    return { round, peer: id, cpuMicrosPerSecond: Object.fromEntries(used.map(([name, us]) => [name, us / seconds])) };
  });
}
