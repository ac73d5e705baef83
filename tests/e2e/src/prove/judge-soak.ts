import type { Resources } from '../faults/read-resources.js';

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
