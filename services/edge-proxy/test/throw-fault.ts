/** For what is told of faults in tests that expect none. */
export function throwFault(err: unknown): never {
  throw err;
}
