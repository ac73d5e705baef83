import { expect, test } from '@jest/globals';
import { inTurn } from './rounds.js';

test('inTurn() puts every peer first and after each of the others', () => {
  const peers = ['a', 'b', 'c'];
  const orders = Array.from({ length: 6 }, (_unused, turn) => inTurn(peers, turn));
  expect(orders.map((order) => [...order].sort())).toEqual(orders.map(() => peers));
  expect(new Set(orders.map(([first]) => first))).toEqual(new Set(peers));
  const after = new Set(orders.flatMap((order) => order.slice(1).map((peer, at) => `${order[at]}${peer}`)));
  expect([...after].sort()).toEqual(['ab', 'ac', 'ba', 'bc', 'ca', 'cb']);
});
