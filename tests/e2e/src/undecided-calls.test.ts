import { expect, test } from '@jest/globals';
import { sendUntilDecided } from '../test/decided.js';
import { StallWitness } from '../test/stall-witness.js';

const fault = { status: 500, text: '{"error":{"code":"admission_error"}}' };
const answering = (answers: readonly { status: number; text: string }[]) => {
  const left = [...answers];
  return { left, call: () => Promise.resolve(left.shift() ?? { status: 200, text: '' }) };
};

test('decided() repeats a call only while it is not decided', async () => {
  expect(await sendUntilDecided(answering([fault, { status: 500, text: 'lookup_failed' }]).call)).toMatchObject({
    status: 200,
  });
  for (const other of [
    { status: 402, text: 'admission_error' },
    { status: 500, text: '{"error":{"code":"catalog_error"}}' },
  ]) {
    const { left, call } = answering([fault, other, fault]);
    expect(await sendUntilDecided(call)).toEqual(other);
    expect(left).toHaveLength(1);
  }
});

test('StallWitness excuses a 500 only if it overlaps a stall of the machine', async () => {
  const witness = new StallWitness(null);
  const begunAt = Date.now();
  expect(witness.excuses({ ...fault, begunAt, endedAt: begunAt + 10_000 })).toBe(false);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);
  const endedAt = Date.now();
  expect(witness.excuses({ ...fault, begunAt, endedAt })).toBe(true);
  await witness.stop();
  expect(witness.excuses({ ...fault, begunAt, endedAt })).toBe(true);
  expect(witness.excuses({ ...fault, begunAt: begunAt - 2_000, endedAt: begunAt - 1_000 })).toBe(false);
  expect(witness.excuses({ status: 402, text: fault.text, begunAt, endedAt })).toBe(false);
  expect(witness.excuses({ status: null, text: '', begunAt, endedAt })).toBe(false);
});
