import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { MEMORY_SHARE_MAX } from './load-limits.js';

/**
 * Used part of the memory that this process may take, of its resident set or of V8's heap,
 * whichever is fuller: a full heap ends the process too.
 * @param bytesMax resident bytes at which load is shed; null: {@link MEMORY_SHARE_MAX} of what the
 * container or machine has
 */
export function makeMemoryReader(bytesMax: number | null): () => number {
  // Without a limit the container's is 0, or beyond what the machine has.
  const constrained = process.constrainedMemory() || Infinity;
  const available = bytesMax === null ? Math.min(constrained, totalmem()) : bytesMax / MEMORY_SHARE_MAX;
  return () => {
    const { used_heap_size: heapUsed, heap_size_limit: heapMax } = getHeapStatistics();
    return Math.max(process.memoryUsage.rss() / available, heapUsed / heapMax);
  };
}
