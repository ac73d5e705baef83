/** Lists retired words as `<file>:<line>: <word>, better <standard word>`. */
export function retiredWords(files: ReadonlyMap<string, string>): string[];
/** Lists comments of more than 100 columns as `<file>:<line>: …`. */
export function wideComments(files: ReadonlyMap<string, string>): string[];
