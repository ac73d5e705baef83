/** A value that JSON.parse takes and JSON.stringify does not: it is nested too deep. */
export const DEEP_JSON = '['.repeat(5_000) + ']'.repeat(5_000);
