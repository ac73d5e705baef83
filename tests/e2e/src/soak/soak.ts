import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type LocalSystem, SERVICES } from '@gateway/local';
import { sumOf, temporaryDirectory, until } from '@gateway/testkit';
import { checkEvidence } from '../evidence/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { SOAK_MIX } from '../load/call-plan.js';
import { defineScenario, SEED_OPTION, withSystem } from '../runner/run-scenario.js';

const PAUSES = 6;
/** Time for the clients' idle connections to close, before resources are counted. */
const PAUSE_MS = 8_000;
const MINUTE_MS = 60_000;
/** About as many calls as one machine makes; the accounts' limits are sized for them. */
const CALLS_A_MINUTE = 3_000;
const PRELOAD = fileURLToPath(new URL('../../../test/resource-counts.mjs', import.meta.url));

async function startSoak(calls: number) {
  const directory = temporaryDirectory('soak-resources');
  const env = { NODE_OPTIONS: `--import=${PRELOAD}`, E2E_RESOURCES_DIRECTORY: directory.path };
  const run = await FaultRun.begin('verify-soak', calls, { env });
  return { run, directory, end: () => run.end().finally(() => directory.remove()) };
}

export const soak = defineScenario({
  name: 'soak',
  title: 'A long run',
  about:
    'official clients and a plain HTTP client over two replicas of edge-proxy, admission and billing, and a proxy on every link between processes. Clients abandon 30 % of the streams, and pause after every read in 5 %. The load pauses six times, and every process collects its garbage. Nothing may grow from the second pause to the last.',
  options: { minutes: { or: 60, min: 1, max: 10_000 }, seed: SEED_OPTION },
  play: ({ minutes, seed }, log) =>
    withSystem(startSoak(minutes * CALLS_A_MINUTE), async ({ run, directory }) => {
      const pauses: Resources[][] = [];
      while (pauses.length < PAUSES) {
        const load = run.load(SOAK_MIX, seed + pauses.length);
        await delay((minutes * MINUTE_MS) / PAUSES);
        await load.stop();
        await delay(PAUSE_MS);
        pauses.push(await readResources(run.system.local, directory.path));
        log(`pause ${pauses.length}: ${run.seen.length} calls; ${JSON.stringify(pauses.at(-1))}`);
      }
      return { ...checkEvidence(await run.evidence(), judgeSoak(pauses)), tables: [] };
    }),
});

/**
 * Growth between two pauses that is not a leak: a cache that fills, or one more idle connection.
 */
const HEAP_GROWTH_MAX = 0.15;
const HEAP_BYTES_MAX = 6 * 1024 * 1024;
/**
 * Limit for a heap that grows in every round, from the second pause to the last. Such growth goes
 * on even if it is small.
 */
const STEADY_BYTES_MAX = 1024 * 1024;
const STEADY_RESTS_MIN = 4;
const SOCKETS_MAX = 10;
const TIMERS_MAX = 5;

/**
 * Compares the last pause with the second one: before it, caches fill, connections are made and
 * code is compiled. Returns one sentence per resource that grew.
 */
export function judgeSoak(rests: readonly (readonly Resources[])[]): string[] {
  const [, first = []] = rests;
  return first.flatMap((before) => {
    const own = rests.slice(1).map((rest) => rest.find(({ replica }) => replica === before.replica));
    const after = own.at(-1);
    if (after === undefined) return [`${before.replica} is not running at the end`];
    const heaps = own.map((one) => one?.heapBytes ?? 0);
    const isSteady =
      heaps.length >= STEADY_RESTS_MIN && heaps.every((heap, at) => at === 0 || heap > (heaps[at - 1] ?? 0));
    const grown: string[] = [];
    const heap = after.heapBytes - before.heapBytes;
    if (heap > Math.max(HEAP_BYTES_MAX, before.heapBytes * HEAP_GROWTH_MAX)) grown.push(`${heap} bytes of heap`);
    else if (heap > STEADY_BYTES_MAX && isSteady) grown.push(`${heap} bytes of heap, more in each pause,`);
    if (after.sockets - before.sockets > SOCKETS_MAX) grown.push(`${after.sockets - before.sockets} sockets`);
    if (after.timers - before.timers > TIMERS_MAX) grown.push(`${after.timers - before.timers} timers`);
    return grown.map((what) => `${before.replica} grew by ${what}`);
  });
}

/** Resources of an idle process after a garbage collection. */
export interface Resources {
  readonly replica: string;
  readonly heapBytes: number;
  readonly sockets: number;
  readonly timers: number;
}

/** What `test/resource-counts.mjs` writes. */
type Written = Record<'heapUsed' | 'external', number> & { resources: Record<string, number> };

const SOCKETS = ['TCPSocketWrap', 'TLSWrap', 'PipeWrap'];
const TIMERS = ['Timeout', 'Immediate'];
const WRITTEN_WITHIN_MS = 20_000;

/**
 * Reads the resources of every process. The system must have been started with
 * `test/resource-counts.mjs` preloaded.
 */
export async function readResources(system: LocalSystem, directory: string): Promise<Resources[]> {
  const all: Resources[] = [];
  for (const name of SERVICES) {
    for (const [index, child] of system.children(name).entries()) {
      const replica = `${name}-${index + 1}`;
      const file = `${directory}/${replica}.json`;
      rmSync(file, { force: true });
      child.kill('SIGUSR2');
      await until(`${replica} has written its resources`, () => existsSync(file), WRITTEN_WITHIN_MS);
      const { heapUsed, external, resources } = JSON.parse(readFileSync(file, 'utf8')) as Written;
      const count = (names: readonly string[]): number => sumOf(names.map((one) => resources[one] ?? 0));
      const [sockets, timers] = [count(SOCKETS), count(TIMERS)];
      all.push({ replica, heapBytes: heapUsed + external, sockets, timers });
    }
  }
  return all;
}
