import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { open, seal, SealError, Secret, type Rotatable } from './index.js';

const keys = (current: Buffer, previous: Buffer | null = null): Rotatable<Buffer> => ({
  current: new Secret(current),
  previous: previous && new Secret(previous),
});
const first = keys(randomBytes(32));
const TEXT = 'sk-provider-key-\u00e9\u{1f511}';

test('opens to the same text, and seals the same text differently each time', () => {
  const sealed = seal(TEXT, 'source_1', first);
  expect(sealed).toMatch(/^v1\.[0-9a-f]{12}\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/);
  expect(sealed).not.toContain('provider');
  expect(open(sealed, 'source_1', first)).toBe(TEXT);
  expect(seal(TEXT, 'source_1', first)).not.toBe(sealed);
  expect(open(seal('', 'source_1', first), 'source_1', first)).toBe('');
});

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=';

/**
 * Three lengths: the last character of base64url then stands for 6, 4 or 2 bits, and the others
 * must be right too.
 */
test.each(['', 'x', 'xy'])('any altered character is found, also after %j more bytes', (more) => {
  const sealed = seal(TEXT + more, 'source_1', first);
  for (let index = 0; index < sealed.length; index += 1) {
    const others = index === sealed.length - 1 ? ALPHABET : 'AB01.-';
    for (const other of others) {
      if (sealed[index] === other) continue;
      const altered = sealed.slice(0, index) + other + sealed.slice(index + 1);
      expect(() => open(altered, 'source_1', first)).toThrow(SealError);
    }
  }
});

test('a shortened, lengthened or foreign text is found', () => {
  const sealed = seal(TEXT, 'source_1', first);
  const strangers = [
    '',
    'v1',
    TEXT,
    sealed.slice(0, -1),
    `${sealed}A`,
    sealed.slice(0, 40),
    `${sealed}.x`,
    ` ${sealed}`,
  ];
  for (const text of strangers) expect(() => open(text, 'source_1', first)).toThrow(SealError);
});

test('a text moved to another source does not open', () => {
  expect(() => open(seal(TEXT, 'source_1', first), 'source_2', first)).toThrow('sealed for another place');
});

test('during a rotation both keys open', () => {
  const old = first;
  const rotated = keys(randomBytes(32), old.current.reveal());
  const sealed = seal(TEXT, 'source_1', old);
  expect(open(sealed, 'source_1', rotated)).toBe(TEXT);
  expect(() => open(sealed, 'source_1', keys(rotated.current.reveal()))).toThrow(
    'neither the current nor the previous',
  );
});

test('an error shows neither text nor key, and a key of another length is refused', () => {
  const sealed = seal(TEXT, 'source_1', first);
  let message = '';
  try {
    open(sealed, 'source_2', first);
  } catch (error) {
    message = String((error as Error).stack);
  }
  expect(message).not.toContain('provider');
  expect(message).not.toContain(first.current.reveal().toString('hex'));
  expect(() => seal(TEXT, 'source_1', keys(randomBytes(16)))).toThrow('32 bytes, not 16');
});
