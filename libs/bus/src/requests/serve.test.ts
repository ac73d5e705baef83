import { systemClock } from '@gateway/service-kit';
import { ManualClock } from '@gateway/testkit/clocks';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { faultCode, startBusWorld, TEST_TIMEOUT_MS, until, type BusWorld } from '../../test/bus-world.js';
import { echo, lookUp } from '../../test/messages.js';
import type { Bus } from '../index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

let world: BusWorld;
let edge: Bus;

beforeAll(async () => {
  world = await startBusWorld();
  edge = await world.connect('edge-proxy');
});
afterAll(() => world.stop());

test('requests above the concurrency limit get the reply overloaded', async () => {
  const admission = await world.connect('admission');
  let release: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (release = resolve));
  let running = 0;
  admission.serve(
    echo,
    async ({ text }) => {
      running += 1;
      await open;
      return { text, replica: '' };
    },
    { concurrencyMax: 2 },
  );
  await admission.listening();
  const held = ['a', 'b'].map((text) => edge.request(echo, { text }));
  await until('both running', () => running === 2);
  expect(await faultCode(edge.request(echo, { text: 'c' }))).toBe('overloaded');
  release();
  expect((await Promise.all(held)).map(({ text }) => text)).toEqual(['a', 'b']);
  expect((await edge.request(echo, { text: 'd' })).text).toBe('d');
  await admission.drain(1_000);
});

test('drain() waits for running handlers, which may send requests and reply', async () => {
  const admission = await world.connect('admission', { replica: 'drained' });
  edge.serve(lookUp, async () => ({ found: 'asked while draining' }));
  let release: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (release = resolve));
  const received: string[] = [];
  admission.serve(echo, async ({ text }) => {
    received.push(text);
    await open;
    return { text, replica: (await admission.request(lookUp, {})).found };
  });
  await admission.listening();
  const asked = edge.request(echo, { text: 'last' }, { replica: 'drained' });
  await until('being handled', () => received.length > 0);
  let ended = false;
  const drained = admission.drain(5_000).then(() => (ended = true));
  const impatient = await world.connect('edge-proxy', { clock: systemClock });
  const to = { replica: 'drained', timeoutMs: 50 };
  await until(
    'no longer served',
    async () => (await faultCode(impatient.request(echo, { text: 'new' }, to))) === 'no_responders',
  );
  expect(ended).toBe(false);
  release();
  expect((await asked).replica).toBe('asked while draining');
  await drained;
  expect(admission.connected()).toBe(false);
});

test('drain() ends after its timeout when a handler hangs', async () => {
  const clock = new ManualClock();
  const admission = await world.connect('admission', { replica: 'hanging', clock });
  let running = false;
  admission.serve(echo, () => {
    running = true;
    return new Promise(() => undefined);
  });
  await admission.listening();
  void faultCode(edge.request(echo, { text: 'a' }, { replica: 'hanging' }));
  await until('running', () => running);
  let hasEnded = false;
  const drained = admission.drain(200).then(() => (hasEnded = true));
  await clock.advance(199);
  expect(hasEnded).toBe(false);
  await clock.advance(1);
  await drained;
  expect(world.log.some(({ text }) => text === 'the bus was not drained')).toBe(true);
});
