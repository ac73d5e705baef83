import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { SHORT_DURATIONS, startOwnSystem } from '../../test/own-system.js';
import { quantiles, thousands, total, type ReportTable } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { LimitStoreLoss, type LossFigures } from './limit-store-loss.js';
import { LOSSES } from './lose-limit-store.js';

export const redis = runnable({
  name: 'redis',
  title: 'Loss of the limit store under load',
  about:
    'two edges, two replicas of admission, four accounts with plain and streamed requests, and a wallet that running streams hold completely. Redis is flushed, killed and restarted with its data, or replaced by an empty one, in an order that the seed determines. In half of the cases it stays down until a client gets a 500. After each loss the responses are compared with the ledger, record by record, and the limit store must be empty.',
  options: { losses: { or: 20, min: 1, max: 1_000 }, seed: { or: testSeed(), min: 0, max: SEED_MAX } },
  topology: { env: SHORT_DURATIONS },
  start: async (topology) => {
    const system = await startOwnSystem('verify-redis', topology.env ?? {});
    const verification = await LimitStoreLoss.begin(system);
    return { verification, end: () => verification.end().finally(() => system.stop()) };
  },
  fault: async ({ verification }, { options: { losses, seed }, log }) => {
    const { next } = new SeededRandom(seed);
    const order = LOSSES.flatMap((loss) => Array.from({ length: losses }, () => ({ loss, at: next() })));
    const all: LossFigures[] = [];
    for (const { loss } of order.sort((one, other) => one.at - other.at)) {
      const { differences, ...times } = await verification.lose(loss, next);
      all.push({ differences, ...times });
      log(`${all.length} ${JSON.stringify(times)}, ${differences.length} differences`);
    }
    return all;
  },
  judge: (_world, all) => Promise.resolve({ violations: all.flatMap(({ differences }) => differences), figures: all }),
  report: (rounds) => rounds.map(({ figures }) => lossesTable(figures)),
});

function lossesTable(all: readonly LossFigures[]): ReportTable {
  const groups = [
    ...LOSSES.map((loss) => [`Redis ${loss}`, all.filter((one) => one.loss === loss)] as const),
    ['all', all] as const,
  ];
  return {
    head: [
      ...['Loss', 'losses', 'responses with 500', 'time of 500s, ms', 'last 500 after Redis is back, ms'],
      ...['all accounts served, ms', 'requests admitted', 'settled records', 'records at 0'],
    ],
    rows: groups.map(([name, own]) => {
      const sum = (read: (one: LossFigures) => number): string => thousands(total(own.map(read)));
      const spread = (read: (one: LossFigures) => number): string => quantiles(own.map(read)).map(thousands).join(', ');
      return [
        name,
        thousands(own.length),
        sum(({ faults }) => faults),
        spread(({ faultsMs }) => faultsMs),
        spread(({ faultsSinceMs }) => faultsSinceMs),
        spread(({ servedMs }) => servedMs),
        sum(({ admitted }) => admitted),
        sum(({ settled }) => settled),
        sum(({ uncharged }) => uncharged),
      ];
    }),
    note: 'Times are median and maximum over the losses. "Time of 500s" runs from the first to the last 500. All accounts are served when each has read a complete response to a request that began after the last 500.',
  };
}
