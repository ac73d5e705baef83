import { percentile, until } from '@gateway/testkit';
import { checkEvidence } from '../evidence/check-evidence.js';
import { isRefusedBy } from '../evidence/judge-call.js';
import { FaultRun } from '../faults/fault-run.js';
import { FAULTS_MIX } from '../load/call-plan.js';
import { seconds, thousands } from '../runner/render-report.js';
import { defineScenario, playRounds, SEED_OPTION, withSystem } from '../runner/run-scenario.js';
import { allBack, untilStreamHasLeader } from './members.js';
import { STANDBY_FAULTS, type StandbyFault } from './standby-faults.js';

const CALLS_BETWEEN = 150;

export const ha = defineScenario({
  name: 'ha',
  title: 'Faults of servers with standbys',
  about:
    'PostgreSQL with two standbys, three NATS servers with streams of three copies, Redis with a replica and three Sentinels, two replicas of each service under the load of the random faults, and a proxy on every link to Redis, from a service to PostgreSQL and NATS, and between their servers. Each fault starts when both edges and the operator API serve again after the previous one. Each round causes each fault once on a new system.',
  options: { times: { or: 20, min: 1, max: 1_000 }, seed: SEED_OPTION },
  play: async ({ times, seed: first }, log) => {
    const rounds = Array.from({ length: times }, (_, round) => ({ seed: first + round }));
    const calls = CALLS_BETWEEN * (STANDBY_FAULTS.length + 1);
    const { figures, ...found } = await playRounds(rounds, ({ seed }) =>
      withSystem(FaultRun.begin('verify-ha', calls, { ha: true, isDivisible: true }), async (run) => {
        run.load(FAULTS_MIX, seed);
        const costs: FaultCost[] = [];
        for (const fault of STANDBY_FAULTS) {
          const cost = await causeStandbyFault(run, fault, CALLS_BETWEEN);
          costs.push(cost);
          log(
            `${cost.fault}: ${cost.refused} refused within ${cost.refusedMs} ms, all served after ${cost.servedMs} ms`,
          );
        }
        return { ...checkEvidence(await run.evidence()), figures: costs };
      }),
    );
    const head = ['Fault', 'times', 's with refusals: median', 'worst', 's until service: median', 'worst'];
    const rows = STANDBY_FAULTS.flatMap(({ name }) => {
      const own = figures.flat().filter(({ fault }) => fault === name);
      if (own.length === 0) return [];
      const medianAndWorst = (times: number[]) => [50, 100].map((percent) => seconds(percentile(times, percent)));
      const refused = medianAndWorst(own.map(({ refusedMs }) => refusedMs));
      return [[name, thousands(own.length), ...refused, ...medianAndWorst(own.map(({ servedMs }) => servedMs))]];
    });
    return { ...found, tables: [{ head, rows }] };
  },
});

export interface FaultCost {
  readonly fault: string;
  /** Time from the first to the last call that the fault refused or broke; 0 if there was none. */
  readonly refusedMs: number;
  readonly refused: number;
  /** Time until both edges and the operator API serve again, with or without a killed server. */
  readonly servedMs: number;
}

const OPERATORS_WITHIN_MS = 60_000;

/**
 * Waits for `callsBefore` calls and causes the fault. Resolves when the whole system serves again.
 */
export async function causeStandbyFault(run: FaultRun, fault: StandbyFault, callsBefore: number): Promise<FaultCost> {
  await run.ended(run.seen.length + callsBefore);
  const cause = () => fault.cause(run).then(() => untilStreamHasLeader(run.system.local));
  const done = await run.causeAs(fault.as, cause);
  await until('the operator API responds', () => isOperatorApiServing(run), OPERATORS_WITHIN_MS);
  const servedMs = Date.now() - done.from;
  await allBack(run.system.local);
  const refused = run.seen.filter((call) => isRefusedBy(done, call));
  const times = refused.flatMap(({ begunAt, endedAt }) => [begunAt, endedAt]);
  const refusedMs = refused.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
  return { fault: fault.name, refusedMs, refused: refused.length, servedMs };
}

export async function isOperatorApiServing(run: FaultRun): Promise<boolean> {
  const { operatorUrl, operatorToken } = run.system.local.running();
  const headers = { authorization: `Bearer ${operatorToken}` };
  const answer = await fetch(`${operatorUrl}/accounts`, { headers, signal: AbortSignal.timeout(OPERATORS_WITHIN_MS) });
  return answer.status === 200;
}
