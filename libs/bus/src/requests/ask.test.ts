import { ManualClock } from '@gateway/testkit/clocks';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { faultCode, startBusWorld, TEST_TIMEOUT_MS, until, type BusWorld } from '../../test/bus-world.js';
import { countUp, echo, echoLoose, echoNext, echoOdd, square, unserved } from '../../test/messages.js';
import { BusFault, type Bus } from '../index.js';
import { WAITING_MAX } from './reply-inbox.js';

jest.setTimeout(TEST_TIMEOUT_MS);

let world: BusWorld;
let edge: Bus;
let admission: Bus;
let second: Bus;
/** Ends the handler of the request `held`. */
let release: (() => void) | undefined;

beforeAll(async () => {
  world = await startBusWorld();
  [edge, admission, second] = await Promise.all([
    world.connect('edge-proxy'),
    world.connect('admission', { replica: 'first' }),
    world.connect('admission', { replica: 'second' }),
  ]);
  for (const bus of [admission, second]) {
    bus.serve(echo, async ({ text }) => {
      if (text === 'refuse') throw new BusFault('not_today', 'closed\r\non Sundays');
      if (text === 'crash') throw new Error('password 123');
      if (text === 'large') return { text: 'x'.repeat(1_000_001), replica: bus.replica };
      if (text === 'held') await new Promise<void>((resolve) => (release = resolve));
      return { text, replica: bus.replica };
    });
    bus.serveMany(countUp, ({ to }, reply) => {
      if (to > 1_000) throw new BusFault('too_far', 'too far');
      for (let n = 1; n <= to; n += 1) reply({ n });
    });
  }
});
afterAll(() => world.stop());

test('a request is answered by one of two replicas', async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => edge.request(echo, { text: `ä${n}` })));
  expect(answers.map(({ text }) => text)).toEqual(Array.from({ length: 200 }, (_, n) => `ä${n}`));
  expect(new Set(answers.map(({ replica }) => replica))).toEqual(new Set(['first', 'second']));
});

test('a request with a replica reaches only that replica', async () => {
  for (const replica of ['first', 'second']) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => edge.request(echo, { text: 'a' }, { replica })));
    expect(answers.every((answer) => answer.replica === replica)).toBe(true);
  }
  expect(await faultCode(edge.request(echo, { text: 'a' }, { replica: 'gone' }))).toBe('no_responders');
  expect(await faultCode(edge.request(countUp, { to: 1 }, { replica: 'first' }))).toBe('fault');
});

test('a reply after the timeout is dropped and the request fails with timeout', async () => {
  const clock = new ManualClock();
  const timed = await world.connect('edge-proxy', { clock });
  const ends: string[] = [];
  void faultCode(timed.request(echo, { text: 'held' }, { timeoutMs: 100 })).then((code) => ends.push(code));
  await until('the request is being handled', () => clock.pending > 0 && release !== undefined);
  await clock.advance(99);
  expect(ends).toEqual([]);
  await clock.advance(1);
  expect(ends).toEqual(['timeout']);
  release?.();
  expect((await timed.request(echo, { text: 'next' })).text).toBe('next');
});

test('a request on an unserved subject fails at once with no_responders', async () => {
  // A timeout would have another code.
  expect(await faultCode(edge.request(unserved, {}))).toBe('no_responders');
});

test('a BusFault of the handler reaches the requester, other exceptions do not', async () => {
  await expect(edge.request(echo, { text: 'refuse' })).rejects.toMatchObject({
    code: 'not_today',
    message: 'closed on Sundays',
  });
  const crash = await edge.request(echo, { text: 'crash' }).catch((error: unknown) => error as BusFault);
  expect(crash).toMatchObject({ code: 'fault', message: 'test.echo: the handler failed' });
  expect(world.log.some(({ text }) => text === 'the handler of a request failed')).toBe(true);
});

test('an invalid body, another version or an unreadable reply fails as invalid_message', async () => {
  await expect(edge.request(echoLoose, { text: 7 })).rejects.toMatchObject({
    code: 'invalid_message',
    message: expect.stringContaining('text'),
  });
  await expect(edge.request(echoNext, { text: 'a' })).rejects.toMatchObject({
    code: 'invalid_message',
    message: expect.stringContaining('version is not 3'),
  });
  await expect(edge.request(echoOdd, { text: 'a' })).rejects.toMatchObject({
    code: 'invalid_message',
    message: expect.stringContaining('reply to test.echo'),
  });
  expect((await edge.request(echoLoose, { text: 'a', unknown: true })).text).toBe('a');
});

test('a packed request gets packed replies', async () => {
  const [asker, server] = await Promise.all([world.connect('edge-proxy'), world.connect('admission')]);
  const handed: unknown[] = [];
  server.serveMany(square, (body, reply) => {
    handed.push(body);
    for (const factor of [1, 2]) reply({ area: factor * body.side ** 2 });
  });
  await server.listening();
  expect(await asker.request(square, { side: 3 }, { replica: server.replica })).toEqual({ area: 9 });
  const areas: number[] = [];
  const faults: string[] = [];
  const on = { answer: ({ area }: { area: number }) => areas.push(area), fault: faultsInto(faults) };
  const open = asker.requestMany(square, { side: 4 }, on, { replica: server.replica });
  await until('both answers', () => areas.length === 2 || faults.length > 0);
  open.close();
  expect([areas, faults, handed]).toEqual([[16, 32], [], [{ side: 3 }, { side: 4 }]]);
});

test('an invalid packed body or reply fails with one invalid_message', async () => {
  const server = await world.connect('admission');
  server.serveMany(square, (_body, reply) => reply({ area: 'x' as never }));
  await server.listening();
  const replica = { replica: server.replica };
  const asked = { side: 'a' as never };
  expect(await faultCode(edge.request(square, asked, replica))).toBe('invalid_message');
  const faults: string[] = [];
  edge.requestMany(square, asked, { answer: () => undefined, fault: faultsInto(faults) }, replica);
  edge.requestMany(square, { side: 1 }, { answer: () => undefined, fault: faultsInto(faults) }, replica);
  await until('both faults', () => faults.length === 2);
  expect(faults).toEqual(['invalid_message', 'invalid_message']);
});

const faultsInto =
  (faults: string[]) =>
  ({ code }: BusFault): void =>
    void faults.push(code);

test('a message above the size limit is refused by sender and server', async () => {
  expect(await faultCode(edge.request(echo, { text: 'x'.repeat(1_000_001) }))).toBe('too_large');
  expect(await faultCode(edge.request(echo, { text: 'large' }))).toBe('too_large');
});

test('requestMany() receives many replies', async () => {
  const numbers: number[] = [];
  const faults: string[] = [];
  const call = edge.requestMany(
    countUp,
    { to: 100 },
    { answer: ({ n }) => void numbers.push(n), fault: ({ code }) => void faults.push(code) },
  );
  await until('all answers', () => numbers.length === 100);
  call.close();
  expect(numbers).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  expect(faults).toEqual([]);
});

test('requestMany() delivers nothing after a fault or a close', async () => {
  const heard: string[] = [];
  const on = { answer: () => void heard.push('answer'), fault: ({ code }: BusFault) => void heard.push(code) };
  edge.requestMany(countUp, { to: 1_001 }, on);
  await until('a fault', () => heard.length > 0);
  expect(heard).toEqual(['too_far']);

  const clock = new ManualClock();
  const timed = await world.connect('edge-proxy', { clock });
  heard.length = 0;
  timed.requestMany(countUp, { to: 3 }, on, { timeoutMs: 1_000 });
  await until('all answers', () => heard.length === 3);
  await clock.advance(1_025);
  expect(heard).toEqual(['answer', 'answer', 'answer', 'timeout']);

  heard.length = 0;
  edge.requestMany(countUp, { to: 3 }, on).close();
  edge.requestMany(unserved, {}, on);
  expect(heard).toEqual([]);
  await until('no responders', () => heard.length > 0);
  expect(heard).toEqual(['no_responders']);
});

test('a receiver that throws does not affect other requests', async () => {
  let failed = false;
  const call = edge.requestMany(
    countUp,
    { to: 2 },
    {
      answer: () => {
        failed = true;
        throw new Error('a mistake');
      },
      fault: () => undefined,
    },
  );
  await until('the answer', () => failed);
  call.close();
  expect((await edge.request(echo, { text: 'still' })).text).toBe('still');
});

test('requests above the limit of waiting requests fail at once with overloaded', async () => {
  let failed = 0;
  const calls = Array.from({ length: WAITING_MAX }, () =>
    edge.requestMany(
      countUp,
      { to: 0 },
      { answer: () => undefined, fault: () => (failed += 1) },
      { timeoutMs: 60_000 },
    ),
  );
  expect(await faultCode(edge.request(echo, { text: 'one more' }))).toBe('overloaded');
  expect(failed).toBe(0);
  for (const call of calls) call.close();
  await until('served', async () => (await faultCode(edge.request(echo, { text: 'again' }))) === 'no fault');
});
