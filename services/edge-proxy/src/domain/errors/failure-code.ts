/**
 * What a failure may be told by: its code, else its name. Texts of libraries may quote what they
 * have sent or read.
 */
export function failureCode(failure: unknown): string {
  // Errors of Node may belong to another realm than this module's `Error`.
  if (typeof failure !== 'object' || failure === null) return 'unknown';
  if ('code' in failure && typeof failure.code === 'string') return failure.code;
  return 'name' in failure && typeof failure.name === 'string' ? failure.name : 'unknown';
}
