import { SERVICES } from '@gateway/local';
import { checkEvidence } from '../evidence/check-evidence.js';
import { defineScenario, withSystem } from '../runner/run-scenario.js';
import { beginRollingRun, isServed, SteadyLoad } from './rolling-run.js';

/** A stream takes 11 to 21 seconds, so that one machine can start new ones continuously. */
const EVENT_MS = 1_000;
const ORDER = SERVICES.toReversed();

export const upgrade = defineScenario({
  name: 'upgrade',
  title: 'A rolling upgrade under load',
  about:
    'streams of 11 to 21 seconds that are always open, in addition to plain requests, from the official clients and a plain HTTP client. A new process starts next to each process and gets all new requests when it is ready. Then the old process gets SIGTERM while all streams are open.',
  options: { streams: { or: 500, min: 10, max: 2_000 }, rounds: { or: 2, min: 1, max: 100 } },
  play: ({ streams, rounds }, log) =>
    withSystem(beginRollingRun('verify-upgrade'), async (run) => {
      const load = await SteadyLoad.start(run, streams, EVENT_MS);
      for (const service of Array.from({ length: rounds }, () => ORDER).flat()) {
        for (const [index] of run.system.local.children(service).entries()) {
          const { open, carried } = await load.replace(service, index);
          log(`${service} ${index + 1}: ${open} open, ${carried.length} of them on the old process`);
        }
      }
      const evidence = await run.evidence();
      const failed = evidence.calls.filter((call) => !isServed(call)).length;
      const wrong = failed === 0 ? [] : [`${failed} calls were refused, cut or got no response`];
      return { ...checkEvidence(evidence, wrong), tables: [] };
    }),
});
