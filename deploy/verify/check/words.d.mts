/** Lists retired words as `<file>:<line>: <word>, better <standard word>`. */
export function retiredWords(files: ReadonlyMap<string, string>): string[];
