import { expect, test } from '@jest/globals';
import { randomBytes, randomInt } from 'node:crypto';
import { BodyBuffer } from './body-buffer.js';

test('a body of one chunk is the chunk itself', () => {
  const chunk = randomBytes(100);
  const body = new BodyBuffer();
  expect(body.heldAfter(chunk)).toBe(100);
  body.append(chunk);
  expect([body.length, body.held]).toEqual([100, 100]);
  expect(body.take()).toBe(chunk);
});

test('a body without chunks is empty', () => {
  const body = new BodyBuffer();
  body.append(Buffer.alloc(0));
  expect([body.length, body.held, body.take()]).toEqual([0, 0, Buffer.alloc(0)]);
});

test('many chunks use at most twice their bytes, as heldAfter() has computed', () => {
  const chunks = Array.from({ length: 300 }, () => randomBytes(randomInt(0, 2_000)));
  const body = new BodyBuffer();
  for (const chunk of chunks) {
    const told = body.heldAfter(chunk);
    body.append(chunk);
    expect(body.held).toBe(told);
    expect(body.held).toBeGreaterThanOrEqual(body.length);
    expect(body.held).toBeLessThanOrEqual(Math.max(4_096, 2 * body.length));
  }
  const bytes = body.take();
  expect(bytes).toEqual(Buffer.concat(chunks));
  expect(bytes.buffer.byteLength).toBe(body.held);
});

test('the first chunk, which belongs to the caller, is never modified', () => {
  const room = Buffer.from('first....');
  const body = new BodyBuffer();
  body.append(room.subarray(0, 5));
  body.append(Buffer.from('!!!!'));
  expect(body.take().toString()).toBe('first!!!!');
  expect(room.toString()).toBe('first....');
});

test('the announced length is the size of the buffer unless more bytes arrive', () => {
  const body = new BodyBuffer(5_000);
  body.append(Buffer.alloc(3_000));
  body.append(Buffer.alloc(1_000));
  expect(body.held).toBe(5_000);
  body.append(Buffer.alloc(1_001));
  expect(body.held).toBe(5_001);
  expect(body.take()).toHaveLength(5_001);
});
