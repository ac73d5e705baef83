import { SeededRandom } from '@gateway/testkit/random';
import { percentile } from '@gateway/testkit';
import { checkEvidence } from '../evidence/check-evidence.js';
import type { FaultDone } from '../evidence/evidence.js';
import { FAULTS_MIX } from '../load/call-plan.js';
import { type ReportTable, thousands } from '../runner/render-report.js';
import { defineScenario, playRounds, SEED_OPTION, withSystem } from '../runner/run-scenario.js';
import { planFaults, targetsOf, type PlannedFault } from './fault-plan.js';
import { FaultRun } from './fault-run.js';

/** Most calls in one round. Each round has a new system, and its logs fit into memory. */
const ROUND_CALLS_MAX = 100_000;

export const faults = defineScenario({
  name: 'faults',
  title: 'Requests under random faults',
  about:
    'official clients and a plain HTTP client. The system has two replicas of edge-proxy, admission and billing, and a proxy on every link between processes. Five of the eight accounts reach a limit. Faults: SIGKILL and SIGSTOP of any process and of PostgreSQL, NATS and Redis, which the local system restarts ("restart": the run restarts it immediately); an orderly stop of an edge while NATS is down; a flushed Redis; connections that are reset, stalled or delayed. Each fault starts when both edges serve again after the previous one. Each round has a new system and adds 1 to the seed.',
  options: {
    calls: { or: ROUND_CALLS_MAX, min: 100, max: 10_000_000 },
    faults: { or: 100, min: 1, max: 100_000 },
    seed: SEED_OPTION,
  },
  play: async (options, log) => {
    const { figures, ...found } = await playRounds(planRounds(options), ({ calls, faults: count, seed }) =>
      withSystem(FaultRun.begin('verify-faults', calls), async (run) => {
        run.load(FAULTS_MIX, seed);
        const targets = targetsOf(run.system.local, run.links);
        await causeFaults(run, planFaults(count, targets, new SeededRandom(seed)), calls, log);
        const evidence = await run.evidence();
        return { ...checkEvidence(evidence), figures: evidence.faults };
      }),
    );
    return { ...found, tables: [faultTable(figures.flat())] };
  },
});

type Round = Readonly<Record<'calls' | 'faults' | 'seed', number>>;

export function planRounds({ calls, faults: count, seed }: Round): Round[] {
  const rounds = Math.ceil(calls / ROUND_CALLS_MAX);
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

/** Times until all edges served calls again, by kind of fault. */
export function faultTable(done: readonly FaultDone[]): ReportTable {
  const kindOf = ({ what, target }: FaultDone): string => `${what} ${target.replace(/-\d+$/, '')}`;
  const kinds = [...new Set(done.map(kindOf))].sort();
  return {
    head: ['Fault', 'times', 'ms until both edges served: median', 'most'],
    rows: kinds.map((kind) => {
      const times = done.filter((fault) => kindOf(fault) === kind).map(({ from, until }) => until - from);
      return [kind, ...[times.length, ...[50, 100].map((percent) => percentile(times, percent))].map(thousands)];
    }),
  };
}
