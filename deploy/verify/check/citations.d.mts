/** What is cited and not there, as `<file>: <what>`. */
export function brokenCitations(files: ReadonlyMap<string, string>, paths: ReadonlySet<string>): string[];
/** The tracked files of a repository, and those that are about to be. */
export function trackedFiles(root: string): { files: Map<string, string>; paths: Set<string> };
