/** Fault handler for tests that expect no faults. */
export function throwFault(err: unknown): never {
  throw err;
}
