import { expect, test } from '@jest/globals';
import { usageEvents, usageSubjects } from '@gateway/contracts/messages';
import { connect } from 'nats';
import { startTestBus, type TestBus } from './test-bus.js';

const USAGE = {
  stream: usageEvents.stream,
  subjects: usageSubjects(),
  discard: 'new',
  bytesMax: 1_000_000,
  ageMaxMs: 60_000,
  duplicateWindowMs: 1_000,
  replicas: 1,
} as const;

/**
 * Returns the names of all streams in the account of a bus. It connects as the account's owner, who
 * has all permissions.
 */
async function streamsOf(bus: TestBus): Promise<string[]> {
  const { host, username, password } = new URL(bus.urlFor('billing'));
  const user = username.replace('billing', 'owner');
  const nats = await connect({ servers: host, user, pass: decodeURIComponent(password) });
  const { streams } = await nats.jetstreamManager();
  const names = await streams.list().next();
  await nats.close();
  return names.map(({ config }) => config.name);
}

test('startTestBus() isolates the streams of each bus and deletes them at stop()', async () => {
  const [one, other] = await Promise.all([startTestBus(), startTestBus()]);
  expect(one.nats.url).toBe(other.nats.url);
  const billing = await one.connect('billing');
  await billing.ensureStream(USAGE);
  expect([await streamsOf(one), await streamsOf(other)]).toEqual([[USAGE.stream], []]);
  await Promise.all([one.stop(), other.stop()]);
  expect(await streamsOf(one)).toEqual([]);
});
