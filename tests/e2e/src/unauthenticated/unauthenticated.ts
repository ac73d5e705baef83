import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { countEach, megabytes, seconds, thousands, total, type ReportTable } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { attackInTurn, planTurns, type AttackSeen, type AttacksSeen } from './attack-in-turn.js';
import { ATTACKED_TOPOLOGY, startAttackedSystem } from './attacked-system.js';
import { parseKinds } from './attacks.js';
import { judgeAttacks, judgeRate, residentMeans, wrongOf, type ResidentMeans } from './judge-attacks.js';
import { VALID_KINDS, type ValidCount, type ValidKind } from './valid-load.js';

const CONNECTIONS_MAX = 18_000;
/** The proxy needs two connections for each, and the limit on connections is its responsibility. */
const HOP_CONNECTIONS_MAX = 3_000;

/** All attacks of one kind. */
interface KindFigures {
  readonly kind: string;
  readonly connections: number;
  readonly connectionsMost: number;
  readonly answers: Readonly<Record<string, number>>;
  readonly valid: Readonly<Record<ValidKind, ValidCount>>;
  /** Most resident memory of the edge and of the dashboard during the attacks. */
  readonly edgeBytes: number;
  readonly dashboardBytes: number;
}

export const unauthenticated = runnable({
  name: 'unauthenticated',
  title: 'Unauthenticated clients',
  about:
    'one replica of each service, attacked from 127.0.0.1 during 50 requests per second, page views and operator requests from 127.0.0.2 and up, each on a separate connection. The attacks take turns in twelve rounds, each in a different order. With `--hops 1`, both public listeners are behind a trusted proxy. Growth of resident memory is judged in runs of 30 minutes or more: at most 1.1.',
  options: {
    minutes: { or: 60, min: 1, max: 10_000 },
    hops: { or: 0, min: 0, max: 1 },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
    kinds: parseKinds,
  },
  topology: ATTACKED_TOPOLOGY,
  start: (topology, { hops }) => startAttackedSystem('verify-unauthenticated', topology, hops),
  fault: (system, { options: { kinds, minutes, hops, seed }, log }) =>
    attackInTurn(system, {
      ...planTurns(parseKinds(kinds), minutes, new SeededRandom(seed)),
      connectionsMax: hops === 0 ? CONNECTIONS_MAX : HOP_CONNECTIONS_MAX,
      onAttack: ({ kind, valid }) => log(`${kind}: ${wrongOf(valid.calls)} of ${valid.calls.sent} requests not served`),
    }),
  judge: (_system, seen) =>
    Promise.resolve({
      violations: [...judgeAttacks(seen), ...judgeRate(seen)],
      figures: { kinds: measureKinds(seen), memory: residentMeans(seen) },
    }),
  report: (rounds) => rounds.flatMap(({ figures }) => [kindsTable(figures.kinds), memoryTable(figures.memory)]),
});

function measureKinds({ attacks, memory }: AttacksSeen): KindFigures[] {
  return [...countEach(attacks.map(({ kind }) => kind)).keys()].map((kind) => {
    const own = attacks.filter((one) => one.kind === kind);
    const peak = (replica: string): number =>
      Math.max(
        0,
        ...memory.filter((one) => one.replica === replica && isDuring(own, one.atMs)).map(({ bytes }) => bytes),
      );
    return {
      kind,
      connections: total(own.map(({ figures }) => figures?.connections ?? 0)),
      connectionsMost: Math.max(...own.map(({ figures }) => figures?.connectionsMost ?? 0)),
      answers: addCounts(own.map(({ figures }) => figures?.answers ?? {})),
      valid: Object.fromEntries(
        VALID_KINDS.map((name) => [name, addValid(own.map(({ valid }) => valid[name]))]),
      ) as KindFigures['valid'],
      edgeBytes: peak('edge-proxy-1'),
      dashboardBytes: peak('dashboard-1'),
    };
  });
}

function isDuring(attacks: readonly AttackSeen[], atMs: number): boolean {
  return attacks.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs);
}

function addValid(counts: readonly ValidCount[]): ValidCount {
  return {
    sent: total(counts.map(({ sent }) => sent)),
    wrong: addCounts(counts.map(({ wrong }) => wrong)),
    slowestMs: Math.max(...counts.map(({ slowestMs }) => slowestMs)),
  };
}

function addCounts(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of all.flatMap((counts) => Object.entries(counts))) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

function kindsTable(kinds: readonly KindFigures[]): ReportTable {
  const list = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${thousands(count)} ${name}`)
      .join(', ');
  const failed = (count: ValidCount): string =>
    `${thousands(wrongOf(count))} of ${thousands(count.sent)}${wrongOf(count) === 0 ? '' : ` (${list(count.wrong)})`}`;
  return {
    head: [
      ...['Attack', 'connections', 'concurrent', 'responses', 'requests', 'pages', 'operators', 'new keys'],
      ...['slowest s', 'edge MB', 'dashboard MB'],
    ],
    rows: kinds.map(({ kind, connections, connectionsMost, answers, valid, edgeBytes, dashboardBytes }) => [
      kind,
      thousands(connections),
      thousands(connectionsMost),
      list(answers),
      ...VALID_KINDS.map((name) => failed(valid[name])),
      seconds(Math.max(valid.calls.slowestMs, valid.pages.slowestMs)),
      megabytes(edgeBytes),
      megabytes(dashboardBytes),
    ]),
    note: 'Connections: made by the attacker, and the most at the same time. Requests, pages, operators and new keys: the failed ones of the valid requests that began during the attack. Slowest: of requests and pages. MB: most resident memory.',
  };
}

function memoryTable(means: readonly ResidentMeans[]): ReportTable {
  return {
    head: ['Process', 'warm MB', 'last MB', 'ratio'],
    rows: means.map(({ replica, warm, last }) => [replica, megabytes(warm), megabytes(last), (last / warm).toFixed(2)]),
    note: 'Mean resident memory from a twelfth to a quarter of the time, and in the last sixth.',
  };
}
