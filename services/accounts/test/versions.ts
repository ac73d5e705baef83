import { expect } from '@jest/globals';

/**
 * Checks the versions that the changes of an object gave it, one for each: later than the one
 * before it, and of the clock, between when it was asked for and now.
 * @param askedMs when each change was asked for
 * @param before the version of the object before them
 */
export function expectVersions(versions: readonly number[], askedMs: readonly number[], before = 1): void {
  expect(versions).toHaveLength(askedMs.length);
  let last = before;
  for (const [index, asked] of askedMs.entries()) {
    const version = versions[index];
    expect(version).toBeGreaterThan(last);
    expect(version).toBeGreaterThanOrEqual(asked);
    expect(version).toBeLessThanOrEqual(Math.max(last + 1, Date.now()));
    last = version ?? last;
  }
}
