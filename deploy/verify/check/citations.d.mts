/** Returns missing citations as `<file>: <citation> <problem>`. */
export function brokenCitations(files: ReadonlyMap<string, string>, paths: ReadonlySet<string>): string[];
/** Returns the tracked and new files of a repository. */
export function trackedFiles(root: string): { files: Map<string, string>; paths: Set<string> };
