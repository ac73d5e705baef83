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

/** Names of the streams in the account of a bus, read by the user who may do everything in it. */
async function streamsOf(bus: TestBus): Promise<string[]> {
  const { host, username, password } = new URL(bus.urlFor('billing'));
  const user = username.replace('billing', 'owner');
  const nats = await connect({ servers: host, user, pass: decodeURIComponent(password) });
  const { streams } = await nats.jetstreamManager();
  const names = await streams.list().next();
  await nats.close();
  return names.map(({ config }) => config.name);
}

test('each bus has streams of its own, and leaves none behind', async () => {
  const [one, other] = await Promise.all([startTestBus(), startTestBus()]);
  expect(one.nats.url).toBe(other.nats.url);
  const billing = await one.connect('billing');
  await billing.ensureStream(USAGE);
  expect([await streamsOf(one), await streamsOf(other)]).toEqual([[USAGE.stream], []]);
  await Promise.all([one.stop(), other.stop()]);
  expect(await streamsOf(one)).toEqual([]);
});
