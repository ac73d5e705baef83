import { expect, test } from '@jest/globals';
import { readConfig } from '@gateway/service-kit';
import { MEMORY_FIELDS, computeMemoryBounds } from './memory-bounds.js';

const MIB = 1024 * 1024;
const boundsIn = (container: number | undefined, env: Record<string, string> = {}) =>
  computeMemoryBounds(readConfig(MEMORY_FIELDS, env), container);
const sum = (bounds: object): number =>
  Object.values(bounds).reduce((total: number, bytes: number) => total + bytes, 0);

test('each kind has its default without a container limit and with a large one', () => {
  const all = { bodies: 512, unauthenticated: 64, responses: 256, streamBuffers: 64, events: 64 };
  const bytes = Object.fromEntries(Object.entries(all).map(([kind, mebibytes]) => [kind, mebibytes * MIB]));
  expect(boundsIn(undefined)).toEqual(bytes);
  expect(boundsIn(16 * 1024 * MIB)).toEqual(bytes);
});

test.each([512, 1024, 2048])('all bounds together leave room for the process in a container of %d MiB', (mebibytes) => {
  expect(sum(boundsIn(mebibytes * MIB))).toBeLessThan(mebibytes * MIB * 0.6);
  // One body of the largest size must fit in any container.
  expect(boundsIn(mebibytes * MIB).bodies).toBeGreaterThan(10 * MIB);
});

test('a configured value overrides the default', () => {
  const { bodies, responses } = boundsIn(1024 * MIB, { GATEWAY_EDGE_BODY_BYTES: String(700 * MIB) });
  expect([bodies, responses]).toEqual([700 * MIB, Math.floor(1024 * MIB * 0.08)]);
});
