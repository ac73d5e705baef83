import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { startBusWorld, TEST_TIMEOUT_MS, USAGE_SETTINGS, type BusWorld } from '../../test/bus-world.js';

import { ERROR_NUMBER } from './jetstream.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';
import { ensureConfiguration } from './streams.js';

jest.setTimeout(TEST_TIMEOUT_MS);

const REPLICAS = 8;
/** One stream of this size fits on the test server, two do not. */
const BYTES_MAX = 20_000_000_000;

let world: BusWorld;

beforeAll(async () => {
  world = await startBusWorld();
});
afterAll(() => world.stop());

test('concurrent replicas create one stream although the server has no room for two', async () => {
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => world.connect('billing')));
  const settings = { ...USAGE_SETTINGS, bytesMax: BYTES_MAX };
  const made = await Promise.allSettled(replicas.map((bus) => bus.ensureStream(settings)));
  expect(made.filter(({ status }) => status === 'rejected')).toEqual([]);
});

test('a stream without room is refused', async () => {
  const bus = await world.connect('billing');
  await bus.ensureStream({ ...USAGE_SETTINGS, bytesMax: BYTES_MAX });
  const second = bus.ensureStream({ ...USAGE_SETTINGS, bytesMax: 2 * BYTES_MAX });
  await expect(second).rejects.toMatchObject({ code: 'stream_refused' });
});

test('a stream that another replica is creating is created or updated by retries', async () => {
  const missing = { error: { err_code: ERROR_NUMBER.streamNotFound, description: 'stream not found' } };
  const answers = [missing, missing, { type: 'made' }];
  const asked: string[] = [];
  const exchange = ({ subject }: { subject: string }) => {
    asked.push(subject);
    return Promise.resolve({ data: Buffer.from(JSON.stringify(answers.shift())) });
  };
  await ensureConfiguration({ exchange } as unknown as ReplyInbox, { name: 'USAGE' });
  expect(asked.map((subject) => subject.split('.')[3])).toEqual(['CREATE', 'UPDATE', 'CREATE']);
});
