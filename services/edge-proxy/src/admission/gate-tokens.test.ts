import { expect, test } from '@jest/globals';
import { GateTokens } from './gate-tokens.js';

test('a token that was followed by another is superseded, in its bucket only', () => {
  const tokens = new GateTokens();
  expect([
    tokens.note(1, 'a'),
    tokens.note(1, 'a'),
    tokens.note(1, 'b'),
    tokens.note(1, 'a'),
    tokens.note(2, 'a'),
  ]).toEqual([true, true, true, false, true]);
  expect(tokens.all()).toEqual([
    { bucket: 1, token: 'b' },
    { bucket: 2, token: 'a' },
  ]);
});
