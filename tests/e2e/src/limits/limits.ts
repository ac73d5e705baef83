import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { startOwnSystem } from '../../test/own-system.js';
import { thousands } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { LIMIT_CASES, limitCalled } from './limit-cases.js';
import { DURATIONS, killAdmissions, LimitVerification, REPLICAS, type LimitFigures } from './limit-verification.js';

const ONE_FITS_IN = 10;

export const limits = runnable({
  name: 'limits',
  title: 'Every limit under parallel requests while admission is killed',
  about:
    'two edges, three replicas of admission, 200 requests in flight. Each limit has a separate account without another effective limit. During the load a random replica of admission is repeatedly killed (SIGKILL) and restarted. For limits in requests, caps and the wallet, every tenth admitted request fails at the provider and returns its place. After the load, single requests follow until five in a row are refused. Slots, holds and held amounts are released before the comparison with clients, provider, ledger and usage endpoint.',
  options: {
    calls: { or: 10_000, min: 100, max: 100_000 },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
    only: limitCalled,
  },
  topology: { env: DURATIONS, replicas: REPLICAS },
  start: async ({ env = {}, replicas }) => {
    const system = await startOwnSystem('verify-limits', env, replicas);
    const verification = await LimitVerification.begin(system);
    return { system, verification, end: () => verification.end().finally(() => system.stop()) };
  },
  fault: async ({ system, verification }, { options: { calls, seed, only }, log }) => {
    const { next } = new SeededRandom(seed);
    const all: LimitFigures[] = [];
    for (const limit of only === undefined ? LIMIT_CASES : [limitCalled(only)]) {
      const one = await verification.press(limit, calls, Math.floor(calls / ONE_FITS_IN), killAdmissions(system, next));
      const { limit: _, differences, ...counts } = one;
      all.push(one);
      log(`${limit.name}: ${JSON.stringify(counts)}, ${differences.length} differences`);
    }
    return all;
  },
  judge: (_world, all) =>
    Promise.resolve({
      violations: all.flatMap(({ differences }) => differences),
      figures: all.map(({ limit: { name, promise }, ...one }) => ({ ...one, name, promise })),
    }),
  report: (rounds) =>
    rounds.map(({ figures }) => ({
      head: ['Limit', 'promise', 'fit', 'admitted', 'kills', '500s'],
      wordColumns: 2,
      rows: figures.map(({ name, promise, ...one }) => [
        ...[name, promise],
        ...[one.fit, one.admitted, one.kills, one.faults].map(thousands),
      ]),
      note: 'Promises: `exact` admits the number that fits. `overshoot` admits at most one more per slot, and none of them began after the limit had refused a request; a refusal may come early after a kill, because settled amounts count twice until their holds are requested. `at_once`: the provider never has more requests at the same time. `per_minute`: in each clock minute of the limit store, the first requests are admitted. 500s: responses because of a kill.',
    })),
});
