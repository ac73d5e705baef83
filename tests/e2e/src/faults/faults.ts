import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { checkEvidence } from '../evidence/check-evidence.js';
import type { FaultDone } from '../evidence/evidence.js';
import { FAULTS_MIX } from '../load/call-plan.js';
import { quantiles, thousands } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import type { Round } from '../runner/scenario.js';
import { planFaults, targetsOf, type PlannedFault } from './fault-plan.js';
import { FaultRun } from './fault-run.js';

const CALLS = 100_000;

export interface FaultsOptions {
  readonly calls: number;
  readonly faults: number;
  /** Most calls in one round. Each round has a new system, and its logs fit into memory. */
  readonly slice: number;
  readonly seed: number;
}

/** By fault: milliseconds until all edges served calls again, once for each occurrence. */
type FaultsFigures = Readonly<Record<string, readonly number[]>>;

export const faults = runnable({
  name: 'faults',
  title: 'Requests under random faults',
  about:
    'official clients and a plain HTTP client. The system has two replicas of edge-proxy, admission and billing, and a proxy on every link between processes. Five of the eight accounts reach a limit. Faults: SIGKILL and SIGSTOP of any process and of PostgreSQL, NATS and Redis, which the local system restarts ("restart": the run restarts it immediately); an orderly stop of an edge while NATS is down; a flushed Redis; connections that are reset, stalled or delayed. Each fault starts when both edges serve again after the previous one. Each round has a new system and adds 1 to the seed.',
  options: {
    calls: { or: CALLS, min: 100, max: 10_000_000 },
    faults: { or: 100, min: 1, max: 100_000 },
    slice: { or: CALLS, min: 100, max: CALLS },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
  },
  topology: {},
  rounds: planRounds,
  start: (topology, { calls }) => FaultRun.begin('verify-faults', calls, topology),
  fault: (run, { options: { calls, faults: count, seed }, log }) => {
    run.load(FAULTS_MIX, seed);
    const targets = targetsOf(run.system.local, run.links);
    return causeFaults(run, planFaults(count, targets, new SeededRandom(seed)), calls, log);
  },
  judge: async (run) => {
    const evidence = await run.evidence();
    return { ...checkEvidence(evidence), figures: measureFaults(evidence.faults) };
  },
  report: reportFaults,
});

export function planRounds({ calls, faults: count, slice, seed }: FaultsOptions): Partial<FaultsOptions>[] {
  const rounds = Math.ceil(calls / slice);
  return Array.from({ length: rounds }, (_, index) => {
    const share = (of: number): number => Math.floor((of * (index + 1)) / rounds) - Math.floor((of * index) / rounds);
    return { calls: share(calls), faults: share(count), seed: seed + index };
  });
}

/** Spreads the faults evenly over the calls. Resolves when all calls have ended. */
export async function causeFaults(
  run: FaultRun,
  planned: readonly PlannedFault[],
  calls: number,
  log: (line: string) => void,
): Promise<void> {
  for (const [index, fault] of planned.entries()) {
    await run.ended(Math.floor((calls * (index + 1)) / (planned.length + 1)));
    const { from, until: over } = await run.causeFault(fault);
    const text = `${over - from} ms until all edges served; ${run.seen.length} calls`;
    log(`${index + 1} ${fault.what} ${fault.target}: ${text}`);
  }
  await run.ended(calls);
}

function measureFaults(done: readonly FaultDone[]): FaultsFigures {
  const times: Record<string, number[]> = {};
  for (const { what, target, from, until } of done)
    (times[`${what} ${target.replace(/-\d+$/, '')}`] ??= []).push(until - from);
  return times;
}

export function reportFaults(rounds: readonly Pick<Round<unknown, FaultsFigures>, 'figures'>[]) {
  const kinds = [...new Set(rounds.flatMap(({ figures }) => Object.keys(figures)))].sort();
  return [
    {
      head: ['Fault', 'times', 'ms until both edges served: median', 'most'],
      rows: kinds.map((kind) => {
        const times = rounds.flatMap(({ figures }) => figures[kind] ?? []);
        return [kind, ...[times.length, ...quantiles(times)].map(thousands)];
      }),
    },
  ];
}
