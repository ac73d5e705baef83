import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/**
 * Returns the bytes that this process uses on and off the heap after garbage collection. Tests
 * compare this value because resident memory also contains garbage that a slow machine has not
 * collected yet.
 */
export function liveBytes(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  // The second collection frees objects that finalizers released during the first one.
  collect();
  collect();
  return heldBytes();
}

/**
 * Returns the same number without collecting garbage first, so it is never lower, and the process
 * does not pause.
 */
export function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
