import { expect, test } from '@jest/globals';
import { containerMemoryBytes, computeMemoryBound } from './telemetry/process-metrics.js';

const GIB = 1024 ** 3;

test.each([
  [GIB, GIB],
  [0, undefined],
  [2 ** 64, undefined],
  [16 * GIB, undefined],
])('the limit %p on a machine with 8 GiB gives %p', (constrained, bytes) => {
  expect(containerMemoryBytes(constrained, 8 * GIB)).toBe(bytes);
});

test('containerMemoryBytes() reads the limit of this process', () => {
  const bytes = containerMemoryBytes();
  if (bytes !== undefined) expect(bytes).toBeGreaterThan(16 * 1024 * 1024);
});

test('memoryBound() is a share of a small container, capped in a large one', () => {
  expect(computeMemoryBound(512, 0.25, 1_000)).toBe(250);
  expect(computeMemoryBound(512, 0.25, 1_000_000)).toBe(512);
  expect(computeMemoryBound(512, 0.25, undefined)).toBeLessThanOrEqual(512);
});
