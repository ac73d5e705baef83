/** A value that JSON.parse accepts but JSON.stringify does not, because it is nested too deep. */
export const DEEP_JSON = '['.repeat(5_000) + ']'.repeat(5_000);
