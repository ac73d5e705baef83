import { expect, test } from '@jest/globals';
import type { HoldFields } from '@gateway/contracts/messages';
import { AccountRoom } from './account-room.js';

type Step = readonly [left: number, admittedAt: number] | 'given back';

const hold = (admittedAt: number): HoldFields => ({ account: 'acc', admittedAt }) as HoldFields;

// Covers r4
test.each<[string, string, Step[], { own?: number; asking?: number }, boolean]>([
  ['one call', 'none fits beside it', [[0, 1]], {}, false],
  ['one call', 'one fits beside it', [[1, 1]], {}, true],
  ['one call', 'one fits, which another may be taking', [[1, 1]], { asking: 1 }, false],
  [
    'two calls',
    'one fits, and two may follow',
    [
      [2, 1],
      [1, 2],
    ],
    {},
    false,
  ],
  [
    'two calls',
    'two fit',
    [
      [3, 1],
      [2, 2],
    ],
    {},
    true,
  ],
  [
    'two calls',
    'one fitted beside the older one, of another key',
    [
      [1, 1],
      [9, 2],
    ],
    { own: 1 },
    false,
  ],
  ['the last of two', 'was released: nobody says what fits now', [[1, 1], [0, 2], 'given back'], {}, false],
  ['the next admission', 'tells it anew', [[1, 1], [0, 2], 'given back', [3, 3]], {}, true],
  [
    'answers in another order',
    'the latest decision counts',
    [
      [0, 7],
      [5, 6],
    ],
    {},
    false,
  ],
  [
    'two decisions of one moment',
    'the lower number counts',
    [
      [0, 7],
      [5, 7],
    ],
    {},
    false,
  ],
  ['everything released', 'nothing is known', [[5, 1], 'given back'], {}, false],
])('whether an answer may end without its release: %s, %s', (_who, _what, steps, { own = 99, asking = 0 }, enough) => {
  const room = new AccountRoom();
  for (const step of steps) {
    if (step === 'given back') room.givenBack(hold(0));
    else room.taken(hold(step[1]), step[0]);
  }
  expect(room.isEnough('acc', own, asking)).toBe(enough);
});

test('an account is forgotten with the last hold that it has', () => {
  const room = new AccountRoom();
  for (let call = 0; call < 3; call += 1) room.taken(hold(call), 9 - call);
  const sizes = [0, 1, 2].map(() => {
    room.givenBack(hold(0));
    return room.size;
  });
  expect(sizes).toEqual([1, 1, 0]);
  room.givenBack(hold(0));
  expect(room.size).toBe(0);
});
