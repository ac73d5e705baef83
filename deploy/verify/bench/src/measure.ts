import { readCpu } from './machine/read-cpu.js';
import type { ProcessGroups } from './machine/read-cpu.js';
import { failuresTotal } from './load/load-job.js';
import type { Expected, LoadJob } from './load/load-job.js';
import type { LoadProcess } from './load/load-process.js';
import { OPEN_STREAM_CHUNKS, STREAM_CHUNKS } from './peers/peer.js';
import type { CallKind, Peer } from './peers/peer.js';
import type { IdleReading, Sample } from './results/sample.js';
import { requestBody } from './scenarios.js';
import type { Scenario } from './scenarios.js';

const EXPECTED: Readonly<Record<CallKind, Expected>> = {
  plain: { bytesMin: 1_000, endsWith: '}' },
  streamed: { bytesMin: STREAM_CHUNKS * 50, endsWith: 'data: [DONE]' },
  large: { bytesMin: 1_000, endsWith: '}' },
  open: { bytesMin: OPEN_STREAM_CHUNKS * 50, endsWith: 'data: [DONE]' },
};
const WARM_UP_SECONDS = 0.3;
const IDLE_MS = 5_000;

/** What a measurement needs beside peer and scenario. */
export interface Bench {
  readonly load: LoadProcess;
  /** Load and provider: whether they were the bound. */
  readonly loadSide: ProcessGroups;
}

/** The job of a scenario for a peer. */
export function jobOf(peer: Peer, scenario: Omit<Scenario, 'id' | 'title'>, until: LoadJob['until']): LoadJob {
  return {
    port: peer.port,
    headers: peer.headers,
    body: requestBody(peer.models[scenario.kind], scenario.kind),
    keysOf: peer.keyed ? peer.id : null,
    connections: scenario.connections,
    perSecond: scenario.perSecond ?? null,
    rampMs: 0,
    until,
    expected: EXPECTED[scenario.kind],
  };
}

/** Runs a job whose every call must be answered, and lets the peer finish its work. @throws Error when a call failed */
export async function runClean(bench: Bench, peer: Peer, job: LoadJob): Promise<void> {
  const result = await bench.load.run(job);
  if (failuresTotal(result) > 0) throw new Error(`${peer.title}: calls failed: ${JSON.stringify(result.failures)}`);
  await peer.settle(result.calls);
}

/**
 * One measurement: a short warm-up, then CPU before and after. The second reading waits until the work that the calls
 * caused is done, so that billing a call counts as a part of it.
 */
export async function measure(
  bench: Bench,
  peer: Peer,
  scenario: Scenario,
  round: number,
  seconds: number,
): Promise<Sample> {
  const warmUp = await bench.load.run(jobOf(peer, scenario, { seconds: Math.min(seconds, WARM_UP_SECONDS) }));
  await peer.settle(warmUp.calls);
  const before = readCpu(peer.processes, peer.except);
  const loadBefore = readCpu(bench.loadSide);
  const result = await bench.load.run(jobOf(peer, scenario, { seconds }));
  const loadAfter = readCpu(bench.loadSide);
  await peer.settle(result.calls);
  const after = readCpu(peer.processes, peer.except);
  return {
    round,
    scenario: scenario.id,
    peer: peer.id,
    result,
    failed: failuresTotal(warmUp) + failuresTotal(result),
    cpuMicros: difference(after, before),
    loadMicros: Object.values(difference(loadAfter, loadBefore)).reduce((sum, micros) => sum + micros, 0),
  };
}

/** What these peers use while no call runs, all in the same seconds. */
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

function difference(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([name, micros]) => [name, micros - (before[name] ?? 0)]));
}
