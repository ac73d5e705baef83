/** A comment above a test: IDs of the covered rules, failures or rows, separated by `; `. */
const COMMENT = /^\s*\/\/ Covers (.+)$/;
/** A test, or a row of its table. */
const TEST = /^\s*(?:test(?:\.\w+)*[.(]|['"`[{(])/;

/** A comment `// Covers …` that names `ids`. */
export interface CoverComment {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly ids: readonly string[];
  /** False if no test follows, so that the comment covers nothing. */
  readonly isAboveTest: boolean;
}

/**
 * Reads the comments `// Covers …` of all tests. An ID is one of `protocolRules` or
 * `readSpecificationRows`.
 * @param files texts of all tracked files, by path from the root
 */
export function readCoverComments(files: ReadonlyMap<string, string>): CoverComment[] {
  return [...files].flatMap(([file, text]) => {
    if (!file.endsWith('.test.ts')) return [];
    const lines = text.split('\n');
    return lines.flatMap((line, at) => {
      const ids = COMMENT.exec(line)?.[1]?.split('; ');
      if (ids === undefined) return [];
      const next = lines.slice(at + 1).find((one) => !one.trim().startsWith('//')) ?? '';
      return [{ file, ids, isAboveTest: TEST.test(next) }];
    });
  });
}
