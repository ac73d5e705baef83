import { SERVICES } from '@gateway/local';
import { checkEvidence } from '../evidence/check-evidence.js';
import { thousands, total } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { isServed, RollingRun } from './rolling-run.js';

/** A stream takes 12 to 20 seconds, so that one machine can start new ones continuously. */
const PIECE_MS = 1_000;

export const upgrade = runnable({
  name: 'upgrade',
  title: 'A rolling upgrade under load',
  about:
    'streams of 12 to 20 seconds that are always open, in addition to plain requests, from the official clients and from raw sockets. A new process starts next to each process and gets all new requests when it is ready. Then the old process gets SIGTERM while all streams are open.',
  options: { streams: { or: 500, min: 10, max: 2_000 }, rounds: { or: 2, min: 1, max: 100 } },
  topology: {},
  start: (_topology, { streams }) => RollingRun.begin('verify-upgrade', streams, PIECE_MS),
  load: (run) => run.load(),
  fault: async (run, { load, options: { rounds }, log }) => {
    const order = Array.from({ length: rounds }, () => SERVICES.toReversed()).flat();
    for (const service of order) {
      for (const [index] of run.system.local.children(service).entries()) {
        const { open, carried } = await run.replace(service, index, load);
        log(`${service} ${index + 1}: ${open} open, ${carried.length} of them on the old process`);
      }
    }
  },
  judge: async (run) => {
    const evidence = await run.evidence();
    const { violations, counterExample } = checkEvidence(evidence);
    const failed = evidence.calls.filter((call) => !isServed(call)).length;
    const counts = {
      made: evidence.calls.length,
      'refused, cut or without a response': failed,
      'attempts at the provider': evidence.provider.length,
      'records settled': evidence.records.filter(({ outcome }) => outcome === 'settled').length,
    };
    const replaced = run.replaced.map(({ service, carried }) => ({ service, carried: carried.length }));
    const all = [...(failed === 0 ? [] : [`${failed} calls were refused, cut or got no response`]), ...violations];
    return { violations: all, counterExample, figures: { counts, replaced } };
  },
  report: (rounds) =>
    rounds.flatMap(({ figures: { counts, replaced } }) => [
      {
        head: ['Replaced', 'times', 'requests it completed'],
        rows: SERVICES.toReversed().map((service) => {
          const own = replaced.filter((one) => one.service === service);
          return [service, thousands(own.length), thousands(total(own.map((one) => one.carried)))];
        }),
      },
      { head: ['Requests', 'count'], rows: Object.entries(counts).map(([name, count]) => [name, thousands(count)]) },
    ]),
});
