export interface Pattern {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}
/** Returns literals and constant `new RegExp` of production code. */
export function patternsOf(files: ReadonlyMap<string, string>): Pattern[];
/** Returns patterns of the documents that clients read, and of the providers' profiles. */
export function storedPatterns(root: string): Pattern[];
/** Lists patterns that backtrack more than linearly as `<file>: <pattern>: <kind>`. */
export function slowPatterns(patterns: readonly Pattern[]): string[];
/** Returns exceptions that are no longer needed. */
export function unusedReasons(patterns: readonly Pattern[]): string[];
