import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { onPool } from '@gateway/postgres';
import { duringTests } from '@gateway/testkit/during-tests';
import { startLedger } from '../../test/ledger-world.js';
import { bools, byteas, hashes, int2s, int4s, int8s, texts, timestamps, uuids } from './array-sql.js';
import { arrayLiteral } from './sql.js';

const ledger = duringTests(startLedger);

/** Returns the server's result for a value of the type. */
async function read(type: string, value: unknown): Promise<unknown> {
  return (await onPool(ledger.pool).one<{ items: unknown }>(`SELECT $1::${type} AS items`, [value]))?.items;
}

const text = fc.string({ unit: 'binary' }).filter((one) => !one.includes('\u0000'));
const orNull = <T>(of: fc.Arbitrary<T>) => fc.array(fc.option(of, { nil: null }), { maxLength: 60 });

test.each<[string, (items: never) => unknown]>([
  ['as text', arrayLiteral],
  ['binary', texts],
])(
  'PostgreSQL reads texts and nulls unchanged: %s',
  async (_form, encode) => {
    await fc.assert(
      fc.asyncProperty(orNull(fc.oneof(text, fc.string())), async (items) => {
        expect(await read('text[]', encode(items as never))).toEqual(items);
      }),
      { numRuns: 50 },
    );
    const looksLike = ['NULL', 'null', '', '{}', '1', ' ', ',', '"', '\\', '{a,b}'];
    expect(await read('text[]', encode(looksLike as never))).toEqual(looksLike);
  },
  30_000,
);

test('arrayLiteral() formats numbers, amounts and booleans', () => {
  expect(arrayLiteral([1, -9_000_000_000_000_000n, true, null])).toBe('{1,-9000000000000000,true,NULL}');
});

test('PostgreSQL reads every kind of binary array unchanged', async () => {
  const int8 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.integer().map(BigInt));
  const uuid = fc.uuid();
  const hash = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('hex'));
  const time = fc.integer({ min: 0, max: 8_640_000_000_000 });
  const ofTimes = (items: readonly (number | null)[]) => items.map((item) => (item === null ? null : new Date(item)));
  const ofHashes = (items: readonly (string | null)[]) =>
    items.map((item) => (item === null ? null : Buffer.from(item, 'hex')));
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        int8s: orNull(int8),
        uuids: orNull(uuid),
        hashes: orNull(hash),
        times: orNull(time),
        int2s: orNull(fc.integer({ min: -32_768, max: 32_767 })),
        int4s: orNull(fc.integer()),
        bools: orNull(fc.boolean()),
      }),
      async (wanted) => {
        expect(await read('int8[]', int8s(wanted.int8s))).toEqual(wanted.int8s);
        expect(await read('uuid[]', uuids(wanted.uuids))).toEqual(wanted.uuids);
        expect(await read('int2[]', int2s(wanted.int2s))).toEqual(wanted.int2s);
        expect(await read('int4[]', int4s(wanted.int4s))).toEqual(wanted.int4s);
        expect(await read('bool[]', bools(wanted.bools))).toEqual(wanted.bools);
        expect(await read('timestamptz[]', timestamps(wanted.times))).toEqual(ofTimes(wanted.times));
        expect(await read('bytea[]', hashes(wanted.hashes))).toEqual(ofHashes(wanted.hashes));
        expect(await read('bytea[]', byteas(ofHashes(wanted.hashes).filter((one) => one !== null)))).toEqual(
          ofHashes(wanted.hashes).filter((one) => one !== null),
        );
      },
    ),
    { numRuns: 25 },
  );
});

test('uuids() and hashes() reject invalid texts before they are sent', () => {
  expect(() => uuids(['0'])).toThrow(RangeError);
  expect(() => uuids([`${'0'.repeat(35)}x`])).toThrow(RangeError);
  expect(() => hashes(['g'.repeat(32)])).toThrow(RangeError);
});
