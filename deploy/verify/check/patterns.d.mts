export interface Pattern {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}
/** Literals and constant `new RegExp` of the programs that run in production. */
export function patternsOf(files: ReadonlyMap<string, string>): Pattern[];
/** Patterns of the documents that clients read, and of the providers' profiles. */
export function storedPatterns(root: string): Pattern[];
/** Lists patterns that backtrack more than linearly as `<file>: <pattern>: <kind>`. */
export function slowPatterns(patterns: readonly Pattern[]): string[];
/** Exceptions that are no longer there. */
export function unusedReasons(patterns: readonly Pattern[]): string[];
