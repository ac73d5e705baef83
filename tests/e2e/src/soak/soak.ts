import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { checkEvidence } from '../evidence/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { SOAK_MIX } from '../load/call-plan.js';
import { megabytes, thousands } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { judgeSoak, readResources, type Resources } from './judge-soak.js';

const PAUSES = 6;
/** Pause after which the clients' idle connections are closed. Those of the services stay open. */
const PAUSE_MS = 8_000;
const MINUTE_MS = 60_000;
/** To size the limits: about as many calls as one machine makes. */
const CALLS_A_MINUTE = 3_000;
const PRELOAD = fileURLToPath(new URL('../../../test/resource-counts.mjs', import.meta.url));

export const soak = runnable({
  name: 'soak',
  title: 'A long run',
  about:
    'official clients and raw sockets over two replicas of edge-proxy, admission and billing, and a proxy on every link between processes. Clients abandon 30 % of the streams, and pause after every read in 5 %. The load pauses six times, and every process collects its garbage. Nothing may grow from the second pause to the last.',
  options: { minutes: { or: 60, min: 1, max: 10_000 }, seed: { or: testSeed(), min: 0, max: SEED_MAX } },
  topology: { env: { NODE_OPTIONS: `--import=${PRELOAD}` } },
  start: async (topology, { minutes }) => {
    const directory = temporaryDirectory('soak-resources');
    const env = { ...topology.env, E2E_RESOURCES_DIRECTORY: directory.path };
    const run = await FaultRun.begin('verify-soak', minutes * CALLS_A_MINUTE, { ...topology, env });
    return { run, directory, end: () => run.end().finally(() => directory.remove()) };
  },
  load: ({ run }, { seed }) => run.load(SOAK_MIX, new SeededRandom(seed).next),
  fault: async ({ run, directory }, { load, options: { minutes }, log }) => {
    const pauses: Resources[][] = [];
    for (let pause = 1; pause <= PAUSES; pause += 1) {
      await delay((minutes * MINUTE_MS) / PAUSES);
      await load.rest();
      await delay(PAUSE_MS);
      pauses.push(await readResources(run.system.local, directory.path));
      log(`pause ${pause}: ${load.seen.length} calls; ${JSON.stringify(pauses.at(-1))}`);
      if (pause < PAUSES) load.goOn();
    }
    return pauses;
  },
  judge: async ({ run }, pauses, load) => {
    const evidence = await run.evidence(load);
    const { violations, counterExample } = checkEvidence(evidence);
    const streams = evidence.calls.filter(({ streamed, ending }) => streamed && ending !== 'refused');
    const counts = {
      'requests made': evidence.calls.length,
      'streams admitted': streams.length,
      'of them abandoned by their clients': streams.filter(({ ending }) => ending === 'left').length,
      'attempts at the provider': evidence.provider.length,
      'usage records': evidence.records.length,
    };
    return { violations: [...judgeSoak(pauses), ...violations], counterExample, figures: { pauses, counts } };
  },
  report: (rounds) =>
    rounds.flatMap(({ figures: { pauses, counts } }) => [
      { head: ['Count', 'value'], rows: Object.entries(counts).map(([name, count]) => [name, thousands(count)]) },
      {
        head: ['Process', ...pauses.map((_, index) => `pause ${index + 1}`)],
        rows: (pauses[0] ?? []).map(({ replica }) => [
          replica,
          ...pauses
            .flatMap((pause) => pause.find((one) => one.replica === replica) ?? [])
            .map(({ heapBytes, residentBytes, sockets, timers }) =>
              [megabytes(heapBytes), megabytes(residentBytes), sockets, timers].join(' · '),
            ),
        ]),
        note: 'MB of heap and buffers · MB resident · sockets · timers.',
      },
    ]),
});
