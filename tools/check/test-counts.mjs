import { readFileSync, rmSync } from 'node:fs';

/** File with the counts of a jest run, written by `room-times.mjs`, relative to the root. */
const COUNTS = '.cache/test-counts.json';

export function forgetCounts() {
  rmSync(COUNTS, { force: true });
}

/** Returns the counts of the run since `forgetCounts`. */
export function readCounts() {
  try {
    return JSON.parse(readFileSync(COUNTS, 'utf8'));
  } catch {
    // A step before the tests failed: that is one failure, and nothing passed.
    return { passed: 0, failed: 1, skipped: 0 };
  }
}
