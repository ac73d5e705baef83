import { expect, test } from '@jest/globals';
import { CallLog } from './call-log.js';
import type { CallRecord } from './call-log.js';

const call = (seq: number, bytes: number, model = 'm'): CallRecord => ({
  seq,
  listener: 'a',
  method: 'POST',
  path: '/p',
  headers: [
    ['A', '1'],
    ['a', '2'],
  ],
  body: Buffer.alloc(bytes, 'x'),
  model,
  aborted: false,
});
const numbers = (log: CallLog): number[] => log.list({}).map(({ seq }) => seq);

test('the oldest calls are dropped above the limit of calls or bytes', () => {
  const byNumber = new CallLog(3, 1_000_000);
  for (let seq = 1; seq <= 5; seq += 1) byNumber.add(call(seq, 10));
  expect(numbers(byNumber)).toEqual([3, 4, 5]);
  const byBytes = new CallLog(100, 250);
  for (let seq = 1; seq <= 5; seq += 1) byBytes.add(call(seq, 100));
  expect(numbers(byBytes)).toEqual([4, 5]);
  byBytes.add(call(6, 1000));
  expect(numbers(byBytes)).toEqual([]);
  byBytes.add(call(7, 100));
  expect(numbers(byBytes)).toEqual([7]);
});

test('calls are filtered by model and number', () => {
  const log = new CallLog(10, 10_000);
  const calls = [call(1, 1, 'x'), call(2, 2, 'y'), call(3, 3, 'x')];
  for (const each of calls) log.add(each);
  expect(log.list({ model: 'x', after: 1 })).toEqual([calls[2]]);
  expect(log.list({})).toEqual(calls);
});
