import { totalmem } from 'node:os';

/**
 * Bytes of memory that this process's container (control group, version 1 or 2) may take; undefined
 * when nothing limits it below what the machine has.
 */
export function containerMemoryBytes(
  constrained: number | undefined = process.constrainedMemory(),
  machine: number = totalmem(),
): number | undefined {
  // Without a limit node says 0, or a number beyond every machine.
  return constrained === undefined || constrained === 0 || constrained >= machine ? undefined : constrained;
}

/**
 * A bound in bytes: `most`, or `part` of what the container has when that is less.
 * @param part 0 to 1
 */
export function memoryBound(most: number, part: number, container = containerMemoryBytes()): number {
  return container === undefined ? most : Math.min(most, Math.floor(container * part));
}
