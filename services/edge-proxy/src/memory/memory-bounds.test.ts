import { expect, test } from '@jest/globals';
import { readConfig } from '@gateway/service-kit';
import { MEMORY_FIELDS, memoryBoundsOf } from './memory-bounds.js';

const MIB = 1024 * 1024;
const boundsIn = (container: number | undefined, env: Record<string, string> = {}) =>
  memoryBoundsOf(readConfig(MEMORY_FIELDS, env), container);
const sum = (bounds: object): number =>
  Object.values(bounds).reduce((total: number, bytes: number) => total + bytes, 0);

test('without a limit, and with a large one, each kind has what it needs', () => {
  const all = { bodies: 512, unopened: 64, answers: 256, beginnings: 64, events: 64 };
  const bytes = Object.fromEntries(Object.entries(all).map(([kind, mebibytes]) => [kind, mebibytes * MIB]));
  expect(boundsIn(undefined)).toEqual(bytes);
  expect(boundsIn(16 * 1024 * MIB)).toEqual(bytes);
});

test.each([512, 1024, 2048])(
  'in a container of %d MiB all of them together leave room for the process',
  (mebibytes) => {
    expect(sum(boundsIn(mebibytes * MIB))).toBeLessThan(mebibytes * MIB * 0.6);
    // One body of the largest size is taken anywhere.
    expect(boundsIn(mebibytes * MIB).bodies).toBeGreaterThan(10 * MIB);
  },
);

test('what is said holds', () => {
  const { bodies, answers } = boundsIn(1024 * MIB, { GATEWAY_EDGE_BODY_BYTES: String(700 * MIB) });
  expect([bodies, answers]).toEqual([700 * MIB, Math.floor(1024 * MIB * 0.08)]);
});
