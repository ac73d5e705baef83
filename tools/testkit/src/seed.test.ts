import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { testSeed } from './seed.js';

test('testSeed() returns TEST_SEED, up to 32 bits', () => {
  expect(testSeed({ TEST_SEED: '0' })).toBe(0);
  expect(testSeed({ TEST_SEED: '4294967295' })).toBe(4_294_967_295);
});

test.each(['', 'x', '-1', '1.5', '1e3', ' 1', '4294967296'])(
  'testSeed() rejects TEST_SEED=%j and names the valid range',
  (given) => {
    const expected = `TEST_SEED must be an integer from 0 to 4294967295, not ${JSON.stringify(given)}`;
    expect(() => testSeed({ TEST_SEED: given })).toThrow(new RangeError(expected));
  },
);

test('testSeed() draws one seed of at most 31 bits if TEST_SEED is not set', () => {
  const drawn = testSeed({});
  expect(testSeed({})).toBe(drawn);
  expect(drawn).toBe(drawn & 0x7fff_ffff);
});

test('fast-check uses the test seed, and a failure prints it', () => {
  expect(fc.readConfigureGlobal()).toEqual({ seed: testSeed() });
  const draw = () => fc.sample(fc.string(), 20);
  expect(draw()).toEqual(draw());
  const fail = () => fc.assert(fc.property(fc.nat(), () => false));
  expect(fail).toThrow(`seed: ${testSeed() | 0},`);
});
