import { renderTable } from '@gateway/testkit';
import type { FaultCost } from '../standbys/suffer-standby-faults.js';

/** Results of all rounds, which are stored between runs. */
export interface HaFigures {
  readonly rounds: number;
  readonly calls: number;
  /** Calls that the checker found lost, doubled, admitted above a limit, or still held. */
  readonly violations: number;
  /** Cost of each occurrence of each fault. */
  readonly costs: Readonly<Record<string, readonly Omit<FaultCost, 'fault'>[]>>;
  readonly versions: Readonly<Record<string, string>>;
}

export interface Round extends Pick<HaFigures, 'calls' | 'violations' | 'versions'> {
  readonly costs: readonly FaultCost[];
}

export const NO_FIGURES: HaFigures = { rounds: 0, calls: 0, violations: 0, costs: {}, versions: {} };

export function addRound(figures: HaFigures, { costs, calls, violations, versions }: Round): HaFigures {
  const all = { ...figures.costs };
  for (const { fault, ...cost } of costs) all[fault] = [...(all[fault] ?? []), cost];
  return {
    rounds: figures.rounds + 1,
    calls: figures.calls + calls,
    violations: figures.violations + violations,
    costs: all,
    versions,
  };
}

/** Renders the results as Markdown, without a date. */
export function renderHa({ rounds, calls, violations, costs, versions }: HaFigures): string {
  const rows = Object.entries(costs).map(([fault, each]): [string, ...string[]] => [
    fault,
    String(each.length),
    ...spread(each.map(({ refusedMs }) => refusedMs)),
    ...spread(each.map(({ servedMs }) => servedMs)),
  ]);
  const ran = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `# Faults of servers with standbys

\`npm run prove:ha\`: PostgreSQL with two standbys, three NATS servers with streams of three copies, Redis with a replica and three Sentinels,
two replicas of each service under the load of [the random faults](faults.md), and a proxy on every link to Redis, from a service to PostgreSQL and NATS,
and between their servers. Each fault starts when both edges and the operator API serve again after the previous one.
${rounds} rounds, ${inThousands(calls)} requests; last versions: ${ran.join(', ')}.

${renderTable(['Fault', 'times', 's with refusals: median', 'worst', 's until service: median', 'worst'], rows)}

Lost, doubled, admitted above a limit, or still held: ${violations}. The checker is the one of [the random faults](faults.md).

Three cases can lose data or exceed a limit:

- An edge is cut off for longer than its leases: its requests run outside the slots.
- A standby is promoted that lacks commits (\`--accept-loss\`): usage comes back from the stream. Manual entries that the standby had not received are lost.
- An edge is killed together with the limit store: its requests that were in no heartbeat are lost.
`;
}

function spread(each: readonly number[]): [string, string] {
  const sorted = [...each].sort((one, other) => one - other);
  const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
  return [seconds(sorted[Math.floor(sorted.length / 2)] ?? 0), seconds(sorted.at(-1) ?? 0)];
}

function inThousands(count: number): string {
  return count.toLocaleString('en');
}
