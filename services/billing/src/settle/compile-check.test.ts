import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { usageEvent, type UsageEvent } from '@gateway/contracts/messages';
import { expired, holdFor, planHoldFor, settled, voided } from '../../test/events.js';
import { compileCheck } from './compile-check.js';

const check = compileCheck(usageEvent);
const EVENTS: readonly UsageEvent[] = [
  settled(holdFor('a'), 5, { traceparent: '00-0-0-01' }),
  settled(planHoldFor('a', 50, 30), 100),
  voided(settled(planHoldFor('b', 0, 0), 1)),
  expired(settled(holdFor('c'), 5)),
];

/** Values that are wrong for one field or another. */
const ODD = fc.oneof(
  fc.constantFrom(null, undefined, '', 0, -1, 1, 2, 3, 1.5, 600, NaN, Infinity, -0, 2 ** 53, 1e300, true, [], {}, 'x'),
  fc.constantFrom('a/b', 'a/', '-', 'é', 'settled', 'usd', '2026-13', '2026-11', 'x'.repeat(129), 'a\n', [[]], [null]),
  fc.string({ maxLength: 70 }),
  fc.integer(),
  fc.double(),
  fc.array(fc.constant({}), { maxLength: 20 }),
);

/** Every place in a value of JSON: its parent and its name. */
function placesOf(value: unknown): { parent: Record<string, unknown>; name: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    { parent: value as Record<string, unknown>, name },
    ...placesOf(inner),
  ]);
}

test('events are accepted and refused as the contract accepts and refuses them', () => {
  for (const event of EVENTS) expect([check(event), usageEvent.safeParse(event).success]).toEqual([true, true]);
  let refused = 0;
  fc.assert(
    fc.property(fc.constantFrom(...EVENTS), fc.nat(), ODD, fc.integer({ min: 0, max: 2 }), (event, at, odd, way) => {
      const changed = structuredClone(event) as unknown;
      const places = placesOf(changed);
      const { parent, name } = places[at % places.length] as (typeof places)[number];
      if (way === 0) parent[name] = odd;
      else if (Array.isArray(parent)) parent.splice(Number(name), 1);
      else if (way === 1) Reflect.deleteProperty(parent, name);
      else parent[`${name}x`] = odd;
      const accepted = usageEvent.safeParse(changed).success;
      if (!accepted) refused += 1;
      return check(changed) === accepted;
    }),
    { numRuns: 2_000 },
  );
  expect(refused).toBeGreaterThan(300);
});

test('what is no event at all is refused', () => {
  for (const value of [null, undefined, 1, 'event', [], {}, [EVENTS[0]]]) expect(check(value)).toBe(false);
});

test.each([
  ['a number that is not whole', z.number()],
  ['a rule of texts', z.object({ at: z.iso.datetime() })],
  ['a rule of objects', z.strictObject({ a: z.string() })],
])('a schema with %s is refused at once', (_what, schema) => {
  expect(() => compileCheck(schema)).toThrow(/no check for/);
});
