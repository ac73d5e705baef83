import { expect, test } from '@jest/globals';
import type { HoldFields } from '@gateway/contracts/messages';
import { AccountRoom } from './account-room.js';

type Step = readonly [left: number, admittedAt: number] | 'given back';

const hold = (admittedAt: number): HoldFields => ({ account: 'acc', admittedAt }) as HoldFields;

// Covers r4
test.each<[string, string, Step[], { own?: number; asking?: number }, boolean]>([
  ['one call', 'no other fits', [[0, 1]], {}, false],
  ['one call', 'one more fits', [[1, 1]], {}, true],
  ['one call', 'one more fits, but one is being admitted', [[1, 1]], { asking: 1 }, false],
  [
    'two calls',
    'one more fits, but two may follow',
    [
      [2, 1],
      [1, 2],
    ],
    {},
    false,
  ],
  [
    'two calls',
    'two more fit',
    [
      [3, 1],
      [2, 2],
    ],
    {},
    true,
  ],
  [
    'two calls',
    'one more fits the older call, of another key',
    [
      [1, 1],
      [9, 2],
    ],
    { own: 1 },
    false,
  ],
  ['the release of the last of two', 'the remaining room is unknown', [[1, 1], [0, 2], 'given back'], {}, false],
  ['the next admission', 'the room is known again', [[1, 1], [0, 2], 'given back', [3, 3]], {}, true],
  [
    'answers out of order',
    'the latest decision counts',
    [
      [0, 7],
      [5, 6],
    ],
    {},
    false,
  ],
  [
    'two decisions at the same time',
    'the lower number counts',
    [
      [0, 7],
      [5, 7],
    ],
    {},
    false,
  ],
  ['all releases', 'nothing is known', [[5, 1], 'given back'], {}, false],
])('isEnough() after %s: %s', (_who, _what, steps, { own = 99, asking = 0 }, enough) => {
  const room = new AccountRoom();
  for (const step of steps) {
    if (step === 'given back') room.givenBack(hold(0));
    else room.taken(hold(step[1]), step[0]);
  }
  expect(room.isEnough('acc', own, asking)).toBe(enough);
});

test('an account is removed with its last hold', () => {
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
