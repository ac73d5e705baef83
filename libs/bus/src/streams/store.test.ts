import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { faultCode, startBusWorld, USAGE_SETTINGS, TEST_TIMEOUT_MS, type BusWorld } from '../../test/bus-world.js';
import { recorded } from '../../test/messages.js';
import type { Bus } from '../index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

let world: BusWorld;
let edge: Bus;
let billing: Bus;

beforeAll(async () => {
  world = await startBusWorld();
  [edge, billing] = await Promise.all([world.connect('edge-proxy'), world.connect('billing')]);
});
afterAll(() => world.stop());

test('store() fails with no_responders without a stream', async () => {
  expect(await faultCode(edge.store(recorded, { shard: 1 }, { n: 1 }))).toBe('no_responders');
  expect(await faultCode(edge.streamState('USAGE'))).toBe('stream_missing');
});

test('store() returns a sequence and stores the same ID once', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  const bytes = edge.encode(recorded, { n: 7 });
  const first = await edge.store(recorded, { shard: 1 }, bytes, { messageId: 'a' });
  const again = await edge.store(recorded, { shard: 1 }, bytes, { messageId: 'a' });
  const other = await edge.store(recorded, { shard: 1 }, { n: 8 }, { messageId: 'b' });
  const bare = await edge.store(recorded, { shard: 2 }, { n: 8 });
  expect([first, again, other, bare]).toEqual([
    { sequence: 1, duplicate: false },
    { sequence: 1, duplicate: true },
    { sequence: 2, duplicate: false },
    { sequence: 3, duplicate: false },
  ]);
  const state = await edge.streamState('USAGE');
  expect(state).toMatchObject({ messages: 3, firstSequence: 1, lastSequence: 3 });
  expect(Math.abs(Number(state.lastAt) - Date.now())).toBeLessThan(60_000);
});

test('ensureStream() accepts the same settings again and changed ones', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  await billing.ensureStream({ ...USAGE_SETTINGS, bytesMax: 400_000 });
  expect((await billing.streamState('USAGE')).messages).toBe(3);
});

// Covers r15
test('a full stream refuses messages and accepts them again after a purge', async () => {
  const fill = 'x'.repeat(100_000);
  const codes: string[] = [];
  for (let n = 0; n < 6; n += 1) codes.push(await faultCode(edge.store(recorded, { shard: 0 }, { n, fill })));
  expect(codes).toEqual(['no fault', 'no fault', 'no fault', 'stream_full', 'stream_full', 'stream_full']);
  await billing.purgeStream('USAGE', 5);
  expect(await billing.streamState('USAGE')).toMatchObject({ messages: 1, firstSequence: 6, lastSequence: 6 });
  expect(await faultCode(edge.store(recorded, { shard: 0 }, { n: 0, fill }))).toBe('no fault');
  await billing.purgeStream('USAGE', 0);
  expect((await billing.streamState('USAGE')).messages).toBe(2);
  await billing.purgeStream('USAGE', 7);
  expect(await billing.streamState('USAGE')).toMatchObject({ messages: 0, firstAt: null, lastAt: null });
});
