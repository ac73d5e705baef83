import { expect, test } from '@jest/globals';
import { duringTests, onceUsed } from './during-tests.js';

class Counter {
  step = 1;
  #count = 0;

  next(): number {
    return (this.#count += this.step);
  }

  stop = () => Promise.resolve();
}

const counter = duringTests(() => Promise.resolve(new Counter()));
const first = onceUsed(() => ({ count: counter.next() }));

let early: unknown;
try {
  counter.next();
} catch (error) {
  early = error;
}

test('duringTests() and onceUsed() create an object once and throw before the tests', () => {
  expect(early).toEqual(new Error('not available before the first test: beforeAll starts it'));
  expect([first.count, first.count]).toEqual([1, 1]);
  counter.step = 5;
  expect(counter.next()).toBe(6);
});
