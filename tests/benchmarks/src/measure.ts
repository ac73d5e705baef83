import { type ExpectedResponse, type LoadJob, failuresTotal } from './load/load-job.js';
import type { LoadProcess } from './load/load-process.js';
import { type ProcessGroups, readCpu } from './machine/read-cpu.js';
import {
  type CallKind,
  LONG_STREAM_CHUNKS,
  OPEN_STREAM_CHUNKS,
  type Peer,
  type PeerId,
  STREAM_CHUNKS,
} from './peers/peer.js';
import type { IdleReading, Sample } from './results/statistics.js';
import { LONG_SHARE, type Scenario, requestBody } from './scenarios.js';

const EXPECTED: Readonly<Record<CallKind, ExpectedResponse>> = {
  plain: { bytesMin: 1_000, endsWith: '}' },
  streamed: { bytesMin: STREAM_CHUNKS * 50, endsWith: 'data: [DONE]' },
  large: { bytesMin: 1_000, endsWith: '}' },
  long: { bytesMin: LONG_STREAM_CHUNKS * 50, endsWith: 'data: [DONE]' },
  open: { bytesMin: OPEN_STREAM_CHUNKS * 50, endsWith: 'data: [DONE]' },
};
const WARM_UP_SECONDS = 0.3;
const IDLE_MS = 5_000;

/** Shared input of all measurements. */
export interface Bench {
  readonly load: LoadProcess;
  /** Load and provider. Their CPU shows whether they were the bottleneck. */
  readonly loadSide: ProcessGroups;
}

/** Returns the load job of a scenario for a peer. */
export function jobOf(peer: Peer, scenario: Omit<Scenario, 'id' | 'title'>, until: LoadJob['until']): LoadJob {
  const kind = scenario.kind === 'mixed' ? 'plain' : scenario.kind;
  const ofKind = (one: CallKind) => ({ body: requestBody(peer.models[one], one), expected: EXPECTED[one] });
  return {
    port: peer.port,
    headers: peer.headers,
    ...ofKind(kind),
    ...(scenario.kind === 'mixed' ? { among: { ...ofKind('long'), share: LONG_SHARE } } : {}),
    keysOf: peer.keyed ? keysName(peer.id, scenario.accounts) : null,
    connections: scenario.connections,
    perSecond: scenario.perSecond ?? null,
    rampMs: 0,
    until,
  };
}

/** Returns the name under which the load stores the keys of a gateway's accounts. */
export function keysName(peer: PeerId, accounts?: Scenario['accounts']): string {
  return accounts === undefined ? peer : `${peer}, ${accounts}`;
}

/**
 * Runs a job and waits until the peer has finished its work. @throws Error if a call of a gateway
 * failed, or if another peer answered no call
 */
export async function runClean(bench: Bench, peer: Peer, job: LoadJob): Promise<void> {
  const result = await bench.load.run(job);
  if (failuresTotal(result) > 0 && (peer.keyed || result.calls === 0)) {
    throw new Error(`${peer.title}: calls failed: ${JSON.stringify(result.failures)}`);
  }
  await peer.settle(result.calls);
}

/**
 * Runs one measurement: a short warm-up, then the load between two CPU readings. The second reading
 * waits until the calls' work is done, so that billing a call is included.
 */
export async function measure(
  bench: Bench,
  peer: Peer,
  scenario: Scenario,
  round: number,
  seconds: number,
): Promise<Sample> {
  const warmUp = await bench.load.run(jobOf(peer, scenario, { seconds: Math.min(seconds, WARM_UP_SECONDS) }));
  await peer.settle(warmUp.calls, failuresTotal(warmUp));
  const before = readCpu(peer.processes, peer.except);
  const loadBefore = readCpu(bench.loadSide);
  const result = await bench.load.run(jobOf(peer, scenario, { seconds }));
  const loadAfter = readCpu(bench.loadSide);
  await peer.settle(result.calls, failuresTotal(result));
  const after = readCpu(peer.processes, peer.except);
  const failures = sumOf(warmUp.failures, result.failures);
  return {
    round,
    scenario: scenario.id,
    peer: peer.id,
    result: { ...result, failures },
    failed: failuresTotal({ failures }),
    cpuMicros: difference(after, before),
    loadMicros: Object.values(difference(loadAfter, loadBefore)).reduce((sum, micros) => sum + micros, 0),
  };
}

/** Measures the CPU of these peers while no call runs, all in the same seconds. */
export async function measureIdle(peers: readonly Peer[], round: number): Promise<IdleReading[]> {
  const read = () => peers.map((peer) => readCpu(peer.processes, peer.except));
  const [before, startedAt] = [read(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, peers.length === 0 ? 0 : IDLE_MS));
  const [after, seconds] = [read(), (performance.now() - startedAt) / 1000];
  return peers.map(({ id }, at) => {
    const used = Object.entries(difference(after[at] ?? {}, before[at] ?? {}));
    const cpuMicrosPerSecond = Object.fromEntries(used.map(([name, micros]) => [name, micros / seconds]));
    return { round, peer: id, cpuMicrosPerSecond };
  });
}

function sumOf(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): Record<string, number> {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
}

function difference(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([name, micros]) => [name, micros - (before[name] ?? 0)]));
}
