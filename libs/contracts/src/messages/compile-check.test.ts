import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { ODD, placesOf, SAMPLES } from '../../test/samples.js';
import { compileCheck } from './compile-check.js';
import { MESSAGES } from './index.js';

const CASES = MESSAGES.filter(({ checkedInPlace }) => checkedInPlace === true).flatMap((message) => {
  const { bodies, answers = [] } = SAMPLES[message.name] ?? { bodies: [] };
  const answer = message.kind === 'request' ? message.answer : null;
  return [
    { what: message.name, schema: message.body, samples: bodies },
    ...(answer === null ? [] : [{ what: `an answer to ${message.name}`, schema: answer, samples: answers }]),
  ];
});

test.each(CASES)('$what is accepted and refused as its schema does', ({ schema, samples }) => {
  const check = compileCheck(schema);
  expect(samples.map((sample) => [check(sample), schema.safeParse(sample).error])).toEqual(
    samples.map(() => [true, undefined]),
  );
  let refused = 0;
  fc.assert(
    fc.property(fc.constantFrom(...samples), fc.nat(), ODD, fc.integer({ min: 0, max: 2 }), (sample, at, odd, way) => {
      const changed = structuredClone(sample) as unknown;
      const places = placesOf(changed);
      const { parent, name } = places[at % places.length] as (typeof places)[number];
      if (way === 0) parent[name] = odd;
      else if (Array.isArray(parent)) parent.splice(Number(name), 1);
      else if (way === 1) Reflect.deleteProperty(parent, name);
      else parent[`${name}x`] = odd;
      const accepted = isAccepted(schema, changed);
      if (!accepted) refused += 1;
      return check(changed) === accepted;
    }),
    { numRuns: 1_000 },
  );
  expect(refused).toBeGreaterThan(150);
});

/** A schema's own checks fail where a text cannot be made of a list's length. */
function isAccepted(schema: z.ZodType, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false;
  }
}

test('what a message in place accepts is what its schema would hand on', () => {
  for (const { schema, samples } of CASES) for (const sample of samples) expect(schema.parse(sample)).toEqual(sample);
});

test('what is no object at all is refused', () => {
  for (const { schema, samples } of CASES) {
    const check = compileCheck(schema);
    for (const value of [null, undefined, 1, 'event', [], {}, [samples[0]]]) expect(check(value)).toBe(false);
  }
});

test.each([
  ['a number that is not whole', z.number()],
  ['a rule of texts', z.object({ at: z.iso.datetime() })],
  ['a rule of objects', z.strictObject({ a: z.string() })],
  ['a field that is filled in', z.object({ a: z.int().default(1) })],
])('a schema with %s is refused at once', (_what, schema) => {
  expect(() => compileCheck(schema)).toThrow(/no check for/);
});

test('names that are data are checked, and so are their values', () => {
  const check = compileCheck(z.record(z.string().regex(/^[a-z]+$/), z.int().min(0)));
  for (const value of [{}, { a: 0, b: 1 }]) expect(check(value)).toBe(true);
  for (const value of [{ A: 1 }, { a: -1 }, { a: undefined }, [], null, JSON.parse('{"__proto__":1}')])
    expect(check(value)).toBe(false);
});
