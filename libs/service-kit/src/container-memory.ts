import { totalmem } from 'node:os';

/**
 * Returns the memory limit of this process's container (control group version 1 or 2) in bytes;
 * undefined if it is not below the machine's memory.
 */
export function containerMemoryBytes(
  constrained: number | undefined = process.constrainedMemory(),
  machine: number = totalmem(),
): number | undefined {
  // Without a limit, Node returns 0 or a number above the memory of any machine.
  return constrained === undefined || constrained === 0 || constrained >= machine ? undefined : constrained;
}

/**
 * Returns a bound in bytes: `most`, or `part` of the container's memory if that is less.
 * @param part 0 to 1
 */
export function memoryBound(most: number, part: number, container = containerMemoryBytes()): number {
  return container === undefined ? most : Math.min(most, Math.floor(container * part));
}
