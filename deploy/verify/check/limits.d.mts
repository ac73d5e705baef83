/** Counts lines of code and data, small files and root scripts. */
export function countSizes(files: ReadonlyMap<string, string>): Record<string, number>;
/** Reads the table of `count.mjs`: replaced phrases per 1,000 words by kind of text. */
export function phrasesPerThousand(table: string): Record<string, number>;
/** Returns a sentence for each value above its limit. */
export function exceededLimits(values: Record<string, number>, limits: Record<string, number>): string[];
