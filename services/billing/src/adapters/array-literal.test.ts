import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { onPool } from '@gateway/postgres';
import type { TestDatabase } from '@gateway/testkit';
import { startLedgerWorld, type LedgerWorld } from '../../test/ledger-world.js';
import { arrayLiteral } from './array-literal.js';

let world: LedgerWorld;
let ledger: TestDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
  ledger = await world.ledger();
}, 60_000);
afterAll(() => world.stop());

const text = fc.string({ unit: 'binary' }).filter((one) => !one.includes('\u0000'));

test('PostgreSQL reads any texts and nulls as they were', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text, { nil: null }), { maxLength: 20 }), async (items) => {
      const row = await onPool(ledger.pool).one<{ items: unknown }>('SELECT $1::text[] AS items', [
        arrayLiteral(items),
      ]);
      expect(row?.items).toEqual(items);
    }),
    { numRuns: 200 },
  );
}, 30_000);

test('a text that looks like a null, a number or an array stays a text', async () => {
  const items = ['NULL', 'null', '', '{}', '1', ' ', ',', '"', '\\', '{a,b}'];
  const row = await onPool(ledger.pool).one<{ items: unknown }>('SELECT $1::text[] AS items', [arrayLiteral(items)]);
  expect(row?.items).toEqual(items);
});

test('numbers, amounts and truths', () => {
  expect(arrayLiteral([1, -9_000_000_000_000_000n, true, null])).toBe('{1,-9000000000000000,true,NULL}');
});
