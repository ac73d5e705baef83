import { expect } from '@jest/globals';

/**
 * Checks the versions that changes gave an object, one per change. Each version must be later than
 * the previous one, and between the time of the request and now.
 * @param askedMs time of each request
 * @param before version of the object before the changes
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
