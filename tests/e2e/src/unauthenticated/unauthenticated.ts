import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { megabytes, seconds, thousands, total } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { attackInTurn, planTurns, type AttacksSeen } from './attack-in-turn.js';
import { ATTACKED_TOPOLOGY, startAttackedSystem } from './attacked-system.js';
import { parseKinds } from './attacks.js';
import { judgeAttacks, judgeRate, residentMeans, wrongOf } from './judge-attacks.js';

const CONNECTIONS_MAX = 18_000;
/** The proxy needs two connections for each, and the limit on connections is its responsibility. */
const HOP_CONNECTIONS_MAX = 3_000;

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
  report: (rounds) =>
    rounds.flatMap(({ figures: { kinds, memory } }) => [
      {
        head: ['Attack', 'connections', 'concurrent', 'responses', 'valid requests', 'failed', 'slowest s'],
        rows: kinds.map(({ kind, connections, most, answers, sent, failed, slowestMs }) => [
          ...[kind, thousands(connections), thousands(most), answers],
          ...[thousands(sent), thousands(failed), seconds(slowestMs)],
        ]),
        note: 'Connections: made by the attacker, and the most at the same time. Valid requests: those that began during the attack.',
      },
      {
        head: ['Process', 'warm MB', 'last MB', 'ratio'],
        rows: memory.map(({ replica, warm, last }) => [
          ...[replica, megabytes(warm), megabytes(last), (last / warm).toFixed(2)],
        ]),
        note: 'Mean resident memory from a twelfth to a quarter of the time, and in the last sixth.',
      },
    ]),
});

function measureKinds({ attacks }: AttacksSeen) {
  return [...new Set(attacks.map(({ kind }) => kind))].map((kind) => {
    const own = attacks.filter((one) => one.kind === kind);
    const attackers = own.flatMap(({ figures }) => figures ?? []);
    const valid = own.flatMap((one) => Object.values(one.valid));
    const answers: Record<string, number> = {};
    for (const [status, count] of attackers.flatMap((one) => Object.entries(one.answers)))
      answers[status] = (answers[status] ?? 0) + count;
    return {
      kind,
      connections: total(attackers.map(({ connections }) => connections)),
      most: Math.max(0, ...attackers.map(({ connectionsMost }) => connectionsMost)),
      answers: Object.entries(answers)
        .map(([status, count]) => `${thousands(count)} ${status}`)
        .join(', '),
      sent: total(valid.map(({ sent }) => sent)),
      failed: total(valid.map(wrongOf)),
      slowestMs: Math.max(...valid.map(({ slowestMs }) => slowestMs)),
    };
  });
}
