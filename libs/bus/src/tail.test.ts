import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { faultCode, startBusWorld, TEST_TIMEOUT_MS, until, type BusWorld } from '../test/bus-world.js';
import { echo, notice, square } from '../test/messages.js';
import { BusFault, tailBus, type TailedMessage } from './index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

let world: BusWorld;
beforeAll(async () => void (world = await startBusWorld()));
afterAll(() => world.stop());

test('tailBus() shows messages, replies and errors by name, packed or not', async () => {
  const seen: TailedMessage[] = [];
  const end = await tailBus(world.urlFor, [square, echo, notice], (message) => void seen.push(message));
  const [edge, admission] = await Promise.all([world.connect('edge-proxy'), world.connect('admission')]);
  admission.serveMany(square, ({ side }, reply) => reply({ area: side ** 2 }));
  admission.serve(echo, () => Promise.reject(new BusFault('not_today', 'closed')));
  await admission.listening();
  await edge.request(square, { side: 3 }, { replica: admission.replica });
  expect(await faultCode(edge.request(echo, { text: 'a' }))).toBe('not_today');
  admission.publish(notice, { to: 'all' }, { n: 'x' as never });
  await until('all were shown', () => seen.length === 5);
  expect(seen.map(({ name, isAnswer, body }) => [name, isAnswer, body])).toEqual(
    expect.arrayContaining([
      ['test.square', false, { side: 3 }],
      ['test.square', true, { area: 9 }],
      ['test.echo', false, { text: 'a' }],
      ['test.echo', true, { error: 'not_today', text: 'closed' }],
      ['test.notice', false, { problem: expect.stringContaining('n: ') }],
    ]),
  );
  expect(seen.find(({ name }) => name === 'test.square')).toMatchObject({ bytes: '[2,3]'.length });
  await end();
});
