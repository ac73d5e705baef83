import { expect, test } from '@jest/globals';
import { KeyRotation } from './key-rotation.js';

const MINUTE = 60_000;

test('gives each connection its own keys in turn', () => {
  const turns = new KeyRotation(5, 60);
  const taken = [0, 1].map((connection) => [1, 2, 3, 4].map(() => turns.take(connection, 2, 0)));
  expect(taken).toEqual([
    [0, 2, 4, 0],
    [1, 3, 1, 3],
  ]);
});

test('limits the calls of a key per minute', () => {
  const turns = new KeyRotation(2, 3);
  const first = Array.from({ length: 7 }, () => turns.take(0, 1, 10 * MINUTE));
  expect(first).toEqual([0, 1, 0, 1, 0, 1, null]);
  expect(turns.take(0, 1, 11 * MINUTE)).not.toBeNull();
});

test('counts a call that ends in the next minute in both minutes', () => {
  const turns = new KeyRotation(1, 2);
  expect(turns.take(0, 1, MINUTE - 1)).toBe(0);
  turns.ended(0, MINUTE - 1, MINUTE + 1);
  expect(turns.take(0, 1, MINUTE + 2)).toBe(0);
  expect(turns.take(0, 1, MINUTE + 3)).toBeNull();
});

test('counts a call within one minute once', () => {
  const turns = new KeyRotation(1, 2);
  expect(turns.take(0, 1, 5)).toBe(0);
  turns.ended(0, 5, 6);
  expect(turns.take(0, 1, 7)).toBe(0);
  expect(turns.take(0, 1, 8)).toBeNull();
});

test('shares keys if there are more connections than keys', () => {
  const turns = new KeyRotation(2, 60);
  expect([0, 1, 2, 3, 4].map((connection) => turns.take(connection, 5, 0))).toEqual([0, 1, 0, 1, 0]);
});
