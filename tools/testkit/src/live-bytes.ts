import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/**
 * Bytes that this process keeps on the heap and outside of it, after its garbage was collected.
 * What a test compares: resident memory also holds garbage that a slow machine has not collected
 * yet.
 */
export function liveBytes(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  // The second collection frees what the finalizers of the first let go.
  collect();
  collect();
  return heldBytes();
}

/**
 * The same with the garbage that is not collected yet: never less, and no collection stops the
 * process.
 */
export function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
