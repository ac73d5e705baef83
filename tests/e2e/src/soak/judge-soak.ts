import { existsSync, readFileSync, rmSync } from 'node:fs';
import { type LocalSystem, SERVICES } from '@gateway/local';
import { until } from '@gateway/testkit';

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
  const [, first = [], ...later] = rests;
  const last = later.at(-1) ?? [];
  return first.flatMap((before) => {
    const after = last.find(({ replica }) => replica === before.replica);
    if (after === undefined) return [`${before.replica} is not running at the end`];
    const grown: string[] = [];
    const heap = after.heapBytes - before.heapBytes;
    if (heap > Math.max(HEAP_BYTES_MAX, before.heapBytes * HEAP_GROWTH_MAX)) grown.push(`${heap} bytes of heap`);
    else if (heap > STEADY_BYTES_MAX && growsSteadily([first, ...later], before.replica)) {
      grown.push(`${heap} bytes of heap, more in each pause,`);
    }
    if (after.sockets - before.sockets > SOCKETS_MAX) grown.push(`${after.sockets - before.sockets} sockets`);
    if (after.timers - before.timers > TIMERS_MAX) grown.push(`${after.timers - before.timers} timers`);
    return grown.map((what) => `${before.replica} grew by ${what}`);
  });
}

/** Whether the heap grew in each of at least {@link STEADY_RESTS_MIN} rounds. */
function growsSteadily(rests: readonly (readonly Resources[])[], of: string): boolean {
  const heaps = rests.map((rest) => rest.find(({ replica }) => replica === of)?.heapBytes ?? 0);
  return heaps.length >= STEADY_RESTS_MIN && heaps.every((heap, at) => at === 0 || heap > (heaps[at - 1] ?? 0));
}

/** Resources of an idle process after a garbage collection. */
export interface Resources {
  readonly replica: string;
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly sockets: number;
  readonly timers: number;
}

interface Written {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly resources: Readonly<Record<string, number>>;
}

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
      const { rss, heapUsed, external, resources } = JSON.parse(readFileSync(file, 'utf8')) as Written;
      const count = (names: readonly string[]): number => names.reduce((sum, one) => sum + (resources[one] ?? 0), 0);
      all.push({
        replica,
        heapBytes: heapUsed + external,
        residentBytes: rss,
        sockets: count(SOCKETS),
        timers: count(TIMERS),
      });
    }
  }
  return all;
}
