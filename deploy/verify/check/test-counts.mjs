import { readFileSync, rmSync } from 'node:fs';

/** Where the reporter `room-times.mjs` leaves the counts of a jest run, from the root. */
const COUNTS = '.cache/test-counts.json';

export function forgetCounts() {
  rmSync(COUNTS, { force: true });
}

/** The counts of the run since they were forgotten. */
export function readCounts() {
  try {
    return JSON.parse(readFileSync(COUNTS, 'utf8'));
  } catch {
    // A step before the tests failed: that is one failure, and nothing passed.
    return { passed: 0, failed: 1, skipped: 0 };
  }
}
