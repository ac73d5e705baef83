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

test('what is started stands for itself, what is made of it is made once, and neither can be used before', () => {
  expect(early).toEqual(new Error('it is used before the tests have started it'));
  expect([first.count, first.count]).toEqual([1, 1]);
  counter.step = 5;
  expect(counter.next()).toBe(6);
});
