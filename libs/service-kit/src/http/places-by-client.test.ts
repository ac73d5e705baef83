import { expect, test } from '@jest/globals';
import { ClientPermits } from './places-by-client.js';

test('each client has its own places and can reuse a released one', () => {
  const places = new ClientPermits({ max: 2, keysMax: 10 });
  expect(['a', 'a', 'a', 'b'].map((client) => places.take(client))).toEqual([true, true, false, true]);
  places.release('a');
  expect([places.take('a'), places.take('a')]).toEqual([true, false]);
});

test('clients without a place are dropped, and their number is bounded', () => {
  const places = new ClientPermits({ max: 1, keysMax: 2 });
  expect(['a', 'b', 'c'].map((client) => places.take(client))).toEqual([true, true, false]);
  expect(places.size).toBe(2);
  places.release('a');
  expect([places.size, places.take('c')]).toEqual([1, true]);
  for (const client of ['b', 'c', 'c']) places.release(client);
  expect(places.size).toBe(0);
});
