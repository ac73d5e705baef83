import { until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { checkEvidence } from '../evidence/check-evidence.js';
import type { Evidence, FaultDone, JoinedCall } from '../evidence/evidence.js';
import { isFaultAnswer, isLostWithLimitStore } from '../evidence/judge-call.js';
import { joinLogs } from '../evidence/match-records.js';
import { FAULTS_MIX } from '../load/call-plan.js';
import type { FaultLoad } from '../load/loads.js';
import { countEach, quantiles, thousands, total } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import type { Round } from '../runner/scenario.js';
import { planFaults, type PlannedFault } from './fault-plan.js';
import { FaultRun } from './fault-run.js';

const CALLS = 100_000;
/** Timeout for all calls of a run, and for the calls between two faults. */
const CALLS_WITHIN_MS = 3_600_000;
/**
 * Calls and faults have different random sequences, so that the number of calls does not change the
 * faults.
 */
const CALLS_SEED = 0x5eed;

export interface FaultsOptions {
  readonly calls: number;
  readonly faults: number;
  /** Most calls in one round. Each round has a new system, and its logs fit into memory. */
  readonly slice: number;
  readonly seed: number;
}

interface FaultsFigures {
  /** By fault: milliseconds until all edges served calls again, once for each occurrence. */
  readonly faults: Readonly<Record<string, readonly number[]>>;
  readonly calls: Readonly<Record<string, number>>;
}

export const faults = runnable({
  name: 'faults',
  title: 'Requests under random faults',
  about:
    'official clients and raw sockets. The system has two replicas of edge-proxy, admission and billing, and a proxy on every link between processes. Five of the eight accounts reach a limit. Faults: SIGKILL and SIGSTOP of any process and of PostgreSQL, NATS and Redis, which the local system restarts ("restart": the run restarts it immediately); an orderly stop of an edge while NATS is down; a flushed Redis; connections that are reset, stalled or delayed. Each fault starts when both edges serve again after the previous one. Each round has a new system and adds 1 to the seed.',
  options: {
    calls: { or: CALLS, min: 100, max: 10_000_000 },
    faults: { or: 100, min: 1, max: 100_000 },
    slice: { or: CALLS, min: 100, max: CALLS },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
  },
  topology: {},
  nextRound: nextSlice,
  start: (topology, { calls }) => FaultRun.begin('verify-faults', calls, topology),
  load: (run, { seed }) => startLoad(run, seed),
  fault: (run, { load, options: { calls, faults: count, seed }, log }) =>
    causeFaults(run, load, planFaults(count, run.targets, new SeededRandom(seed).next), calls, log),
  judge: async (run, _seen, load) => {
    const evidence = await run.evidence(load);
    return { ...checkEvidence(evidence), figures: measureFaults(evidence) };
  },
  report: reportFaults,
});

export function nextSlice(requested: FaultsOptions, done: readonly { options: FaultsOptions }[]): FaultsOptions | null {
  const index = done.length;
  const count = Math.ceil(requested.calls / requested.slice);
  if (index >= count) return null;
  const share = (of: number): number => Math.floor((of * (index + 1)) / count) - Math.floor((of * index) / count);
  return { ...requested, calls: share(requested.calls), faults: share(requested.faults), seed: requested.seed + index };
}

export function startLoad(run: FaultRun, seed: number): FaultLoad {
  return run.load(FAULTS_MIX, new SeededRandom(seed ^ CALLS_SEED).next);
}

/** Spreads the faults evenly over the calls. Resolves when all calls have ended. */
export async function causeFaults(
  run: FaultRun,
  load: FaultLoad,
  planned: readonly PlannedFault[],
  calls: number,
  log: (line: string) => void,
): Promise<void> {
  const ended = (due: number): Promise<unknown> =>
    until(`${due} calls have ended`, () => load.seen.length >= due, CALLS_WITHIN_MS);
  for (const [index, fault] of planned.entries()) {
    await ended(Math.floor((calls * (index + 1)) / (planned.length + 1)));
    const { from, until: over } = await run.causeFault(fault, load);
    const text = `${over - from} ms until all edges served; ${load.seen.length} calls`;
    log(`${index + 1} ${fault.what} ${fault.target}: ${text}`);
  }
  await ended(calls);
}

function measureFaults(evidence: Evidence): FaultsFigures {
  const { calls, records, provider, faults: done } = evidence;
  const times: Record<string, number[]> = {};
  for (const fault of done) (times[kindOf(fault)] ??= []).push(fault.until - fault.from);
  const isLost = (joined: JoinedCall): boolean => joined.provider.length > 0 && isLostWithLimitStore(joined, done);
  const endings = countEach(calls.map(({ ending }) => ending));
  const outcomes = countEach(records.map(({ outcome }) => outcome));
  return {
    faults: times,
    calls: {
      made: calls.length,
      'of them streamed': calls.filter(({ streamed }) => streamed).length,
      'complete for their clients': endings.get('whole') ?? 0,
      'abandoned by their clients': endings.get('left') ?? 0,
      cut: endings.get('cut') ?? 0,
      refused: endings.get('refused') ?? 0,
      '500 because of a fault': calls.filter(isFaultAnswer).length,
      'attempts at the provider': provider.length,
      'records settled': outcomes.get('settled') ?? 0,
      'records voided': outcomes.get('voided') ?? 0,
      'records expired': outcomes.get('expired') ?? 0,
      'lost with an edge and the limit store': joinLogs(evidence).calls.filter(isLost).length,
    },
  };
}

function kindOf({ what, target }: FaultDone): string {
  return `${what} ${target.replace(/-\d+$/, '')}`;
}

export function reportFaults(rounds: readonly Pick<Round<unknown, FaultsFigures>, 'figures'>[]) {
  const all = rounds.map(({ figures }) => figures);
  const kinds = [...new Set(all.flatMap((figures) => Object.keys(figures.faults)))].sort();
  const results = Object.keys(all[0]?.calls ?? {});
  return [
    {
      head: ['Fault', 'times', 'ms until both edges served: median', 'most'],
      rows: kinds.map((kind) => {
        const times = all.flatMap((figures) => figures.faults[kind] ?? []);
        return [kind, ...[times.length, ...quantiles(times)].map(thousands)];
      }),
    },
    {
      head: ['Requests', 'count'],
      rows: results.map((name) => [name, thousands(total(all.map((figures) => figures.calls[name] ?? 0)))]),
      note: "One loss is by design and counted above: if an edge dies, and the limit store is lost before the edge's requests have expired, requests that were in no heartbeat leave no record.",
    },
  ];
}
