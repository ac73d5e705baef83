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

test.each(CASES)('the schema of $what agrees with compileCheck()', ({ schema, samples }) => {
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

/** Returns false if the schema throws: its checks throw if `length` cannot be converted to text. */
function isAccepted(schema: z.ZodType, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false;
  }
}

test('a message checked in place equals the output of its schema', () => {
  for (const { schema, samples } of CASES) for (const sample of samples) expect(schema.parse(sample)).toEqual(sample);
});

test('compileCheck() rejects values that are not objects', () => {
  for (const { schema, samples } of CASES) {
    const check = compileCheck(schema);
    for (const value of [null, undefined, 1, 'event', [], {}, [samples[0]]]) expect(check(value)).toBe(false);
  }
});

test.each([
  ['a number that may be fractional', z.number()],
  ['a text format', z.object({ at: z.iso.datetime() })],
  ['an object without unknown fields', z.strictObject({ a: z.string() })],
  ['a field with a default', z.object({ a: z.int().default(1) })],
])('compileCheck() throws for a schema with %s', (_what, schema) => {
  expect(() => compileCheck(schema)).toThrow(/no check for/);
});

test('compileCheck() checks the names and values of a record', () => {
  const check = compileCheck(z.record(z.string().regex(/^[a-z]+$/), z.int().min(0)));
  for (const value of [{}, { a: 0, b: 1 }]) expect(check(value)).toBe(true);
  for (const value of [{ A: 1 }, { a: -1 }, { a: undefined }, [], null, JSON.parse('{"__proto__":1}')])
    expect(check(value)).toBe(false);
});
