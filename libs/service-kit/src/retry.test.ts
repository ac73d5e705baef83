import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { nextDelayMs, pause, retry, within } from './index.js';

const lowest = { baseMs: 100, maxMs: 1_000, random: () => 0 };
const highest = { ...lowest, random: () => 0.999_999 };

test('nextDelayMs() doubles up to its bound, with a random upper half', () => {
  expect([0, 1, 2, 3, 4, 50].map((attempt) => nextDelayMs(attempt, lowest))).toEqual([50, 100, 200, 400, 500, 500]);
  expect([0, 1, 2, 3, 4, 50].map((attempt) => nextDelayMs(attempt, highest))).toEqual([100, 200, 400, 800, 1000, 1000]);
});

test('nextDelayMs() stays finite for any number of attempts', () => {
  expect(nextDelayMs(1e9, highest)).toBe(1_000);
  expect(nextDelayMs(-1, highest)).toBe(100);
});

/** Fails `times` times, then resolves with the number of the attempt. */
function failing(times: number): () => Promise<number> {
  let attempts = 0;
  return async () => {
    attempts += 1;
    if (attempts <= times) throw new Error(`attempt ${attempts}`);
    return attempts;
  };
}

const quick = { baseMs: 1, maxMs: 1, random: () => 0 };

test('retry() repeats work until it resolves and reports each failure', async () => {
  const told: unknown[] = [];
  expect(await retry(failing(2), { ...quick, failed: (err) => told.push(err) })).toBe(3);
  expect(told).toEqual([new Error('attempt 1'), new Error('attempt 2')]);
});

test('retry() throws the last error after the attempts or a permanent error', async () => {
  await expect(retry(failing(9), { ...quick, attemptsMax: 3 })).rejects.toThrow('attempt 3');
  await expect(retry(failing(9), { ...quick, mayPass: () => false })).rejects.toThrow('attempt 1');
});

test('an aborted signal ends the pause at once without a further attempt', async () => {
  const stop = new AbortController();
  const waiting = retry(failing(9), { baseMs: 60_000, maxMs: 60_000, random: () => 0, signal: stop.signal });
  setImmediate(() => stop.abort());
  await expect(waiting).rejects.toThrow('attempt 1');
  await expect(retry(failing(9), { ...quick, signal: stop.signal })).rejects.toThrow('attempt 1');
  expect(await pause(60_000, stop.signal)).toBe(false);
  expect(await pause(0)).toBe(true);
});

test('within() has a timeout and accepts data from a blocked event loop', async () => {
  const never = new Promise<never>(() => undefined);
  await expect(within(never, 1)).rejects.toThrow('not done within 1 ms');
  await expect(within(never, 1, () => new RangeError('late'))).rejects.toThrow(RangeError);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [typeof client];
  await once(client, 'ready');
  const answered = within(once(client, 'data'), 20);
  socket.write('an answer');
  const heldUpTo = performance.now() + 60;
  while (performance.now() < heldUpTo);
  await expect(answered).resolves.toEqual([Buffer.from('an answer')]);
  client.destroy();
  server.close();
});
