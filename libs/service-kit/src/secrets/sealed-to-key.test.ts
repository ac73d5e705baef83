import { expect, test } from '@jest/globals';
import {
  hasSealedForm,
  isSealedToCurrent,
  makePrivateKey,
  openSealed,
  publicHalfOf,
  resealTo,
  SealError,
  sealTo,
  Secret,
  type OpeningKeys,
} from '../index.js';

const TEXT = 'sk-provider-key-\u00e9\u{1f511}';
const newKey = () => new Secret(makePrivateKey());
const keysOf = (current: Secret<Buffer>, previous: Secret<Buffer> | null = null): OpeningKeys => ({
  privateKey: { current, previous },
});
const own = newKey();
const sealed = sealTo(TEXT, 'source_1', publicHalfOf(own));

test('a sealed text opens to the same text, and each sealing differs', () => {
  expect(sealed).toMatch(/^v2\.[0-9a-f]{12}\.[A-Za-z0-9_-]{43}\.[A-Za-z0-9_-]+$/);
  expect(openSealed(sealed, 'source_1', keysOf(own))).toBe(TEXT);
  expect(sealTo(TEXT, 'source_1', publicHalfOf(own))).not.toBe(sealed);
  expect(openSealed(sealTo('', 'source_1', publicHalfOf(own)), 'source_1', keysOf(own))).toBe('');
});

test('a public key cannot open a sealed text', () => {
  const known = publicHalfOf(own);
  for (const keys of [keysOf(known), keysOf(newKey(), known)])
    expect(() => openSealed(sealed, 'source_1', keys)).toThrow(SealError);
});

test('with a secret the same text, place and key give the same sealed text', () => {
  const [under, other] = [new Secret('one'), new Secret('two')];
  const repeated = (text: string, context: string, key = own, secret = under) =>
    sealTo(text, context, publicHalfOf(key), secret);
  const first = repeated(TEXT, 'source_1');
  expect(repeated(TEXT, 'source_1')).toBe(first);
  expect(openSealed(first, 'source_1', keysOf(own))).toBe(TEXT);
  const others = [
    repeated('another', 'source_1'),
    repeated(TEXT, 'source_2'),
    repeated(TEXT, 'source_1', newKey()),
    repeated(TEXT, 'source_1', own, other),
  ];
  const encapsulated = [first, ...others].map((text) => text.split('.')[2]);
  expect(new Set(encapsulated).size).toBe(5);
});

test('openSealed() refuses any changed character', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=';
  for (const text of ['', 'x', 'xy'].map((more) => sealTo(TEXT + more, 'source_1', publicHalfOf(own)))) {
    for (let index = 0; index < text.length; index += 1) {
      const isLast = index === text.length - 1 || text[index + 1] === '.';
      for (const other of isLast ? alphabet : 'A1.-') {
        if (text[index] === other) continue;
        const altered = text.slice(0, index) + other + text.slice(index + 1);
        expect(() => openSealed(altered, 'source_1', keysOf(own))).toThrow(SealError);
      }
    }
  }
});

test('openSealed() refuses cut, longer, foreign or moved texts without showing them', () => {
  const strangers = [
    '',
    'v2',
    TEXT,
    sealed.slice(0, -1),
    `${sealed}A`,
    sealed.slice(0, 50),
    `${sealed}.x`,
    ` ${sealed}`,
  ];
  for (const text of strangers) expect(() => openSealed(text, 'source_1', keysOf(own))).toThrow(SealError);
  const moved = () => openSealed(sealed, 'source_2', keysOf(own));
  expect(moved).toThrow('sealed for another place');
  expect(moved).not.toThrow('provider');
});

test('during a rotation both keys open, and resealTo() moves to the current one', () => {
  const next = newKey();
  const rotated = keysOf(next, own);
  expect([openSealed(sealed, 'source_1', rotated), isSealedToCurrent(sealed, rotated)]).toEqual([TEXT, false]);
  const moved = resealTo(sealed, 'source_1', rotated) ?? '';
  expect([openSealed(moved, 'source_1', keysOf(next)), isSealedToCurrent(moved, rotated)]).toEqual([TEXT, true]);
  expect(resealTo(moved, 'source_1', rotated)).toBeNull();
  expect(() => openSealed(sealed, 'source_1', keysOf(next))).toThrow('neither the current nor the previous');
  expect(() => resealTo(sealed, 'source_2', rotated)).toThrow(SealError);
});

test('hasSealedForm() is true for a sealed text and false for a plain one', () => {
  expect(hasSealedForm(sealed)).toBe(true);
  expect(['', TEXT, 'v2.0.0.0', sealed.slice(1), `${sealed}.`, `${sealed}\n`].some(hasSealedForm)).toBe(false);
});
