import { beforeEach, expect, test } from '@jest/globals';
import { SHARDS_TOTAL } from '@gateway/contracts/ids';
import {
  unpackEvent,
  USAGE_EVENTS_MAX,
  USAGE_MESSAGE_BYTES_MAX,
  usageEvents,
  type UsageEvent,
} from '@gateway/contracts/messages';
import { ManualClock } from '@gateway/testkit/clocks';
import { FakeBusClient } from '../../test/fake-bus-client.js';
import { TEST_PRICE } from '../../test/fake-admission.js';
import { testEvent as event } from '../../test/test-event.js';
import { UsageJournal } from './store-usage.js';
import { TickEnd } from '../admission/tick-batch.js';

let timers: ManualClock;
let busClient: FakeBusClient;
let journal: UsageJournal;
let failures: string[];

beforeEach(() => {
  timers = new ManualClock();
  failures = [];
  busClient = new FakeBusClient();
  journal = journalOf(SHARDS_TOTAL);
});

function journalOf(groups?: number): UsageJournal {
  return new UsageJournal({
    bus: busClient,
    tickEnd: new TickEnd(),
    timers,
    random: () => 0,
    onFailedTry: (code) => void failures.push(code),
    ...(groups === undefined ? {} : { groups }),
  });
}

/** Lets two ticks pass: an operation that resolves in one tick sends its message at its end. */
const nextTicks = (): Promise<void> => timers.advance(0);

const eventsIn = (message: Buffer | undefined): UsageEvent[] => {
  const [version, events] = JSON.parse(String(message)) as [number, unknown[]];
  expect(version).toBe(usageEvents.version);
  return usageEvents.body.parse({ events: events.map(unpackEvent) }).events;
};

test('the events of one tick are sent in one message at its end, for all accounts', async () => {
  journal = journalOf();
  const events = Array.from({ length: SHARDS_TOTAL }, () => event());
  for (const [shard, one] of events.entries()) journal.append(shard, one, () => undefined);
  await nextTicks();
  expect(busClient.stored.map(({ group }) => group)).toEqual([0]);
  expect(eventsIn(busClient.stored[0]?.message).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
});

test('the events of one tick are sent in one message per group of shards', async () => {
  const shards = [1, 2, 1];
  for (const shard of shards) journal.append(shard, event(), () => undefined);
  expect(busClient.stored).toHaveLength(0);
  await nextTicks();
  expect(busClient.stored.map(({ group, message }) => [group, eventsIn(message).length])).toEqual([
    [1, 2],
    [2, 1],
  ]);
});

test('events that arrive during a store are sent in the next message of their group', async () => {
  const done: string[] = [];
  const events = Array.from({ length: 4 }, () => event());
  for (const [at, one] of events.slice(0, 3).entries()) {
    journal.append(1, one, () => done.push(one.id));
    if (at === 0) await nextTicks();
  }
  journal.append(2, events[3] as UsageEvent, () => undefined);
  await nextTicks();
  expect(busClient.stored.map(({ group, message }) => [group, eventsIn(message).length])).toEqual([
    [1, 1],
    [2, 1],
  ]);
  busClient.stored[0]?.finish();
  await nextTicks();
  expect(done).toEqual([events[0]?.id]);
  expect(eventsIn(busClient.stored[2]?.message).map(({ id }) => id)).toEqual([events[1]?.id, events[2]?.id]);
  busClient.stored[2]?.finish();
  await nextTicks();
  expect(done).toHaveLength(3);
  expect(journal.unstored).toBe(1);
});

// Covers r4
test('a message holds at most 100 events and 256 KB', async () => {
  journal.append(0, event(), () => undefined);
  await nextTicks();
  for (let count = 0; count < USAGE_EVENTS_MAX + 5; count += 1) journal.append(0, event(), () => undefined);
  busClient.stored[0]?.finish();
  await nextTicks();
  expect(eventsIn(busClient.stored[1]?.message)).toHaveLength(USAGE_EVENTS_MAX);
  const large = { traceparent: undefined, source: 's'.repeat(120) };
  const attempt = {
    source: 's',
    provider: 'p',
    outcome: 'broken',
    status: null,
    possiblyPaid: true,
    usage: null,
  } as const;
  const tiers = Array.from({ length: 8 }, () => ({ aboveInputTokens: 1, ...TEST_PRICE.figures }));
  const cost = { version: 'c', figures: { ...TEST_PRICE.figures, tiers } };
  for (let count = 0; count < 40; count += 1) {
    journal.append(
      3,
      event({ ...large, attempts: Array.from({ length: 16 }, () => ({ ...attempt, cost })) }),
      () => undefined,
    );
  }
  await nextTicks();
  for (let at = 2; at < busClient.stored.length; at += 1) {
    busClient.stored[at]?.finish();
    await nextTicks();
  }
  for (const { message } of busClient.stored) expect(message.length).toBeLessThanOrEqual(USAGE_MESSAGE_BYTES_MAX);
});

// Covers r4; an edge is cut off from NATS
test('a failed message is retried indefinitely with the same bytes', async () => {
  let stored = 0;
  journal.append(0, event(), () => (stored += 1));
  await nextTicks();
  for (let attempt = 0; attempt < 8; attempt += 1) {
    busClient.stored[attempt]?.finish(attempt % 2 === 0 ? 'no_responders' : 'timeout');
    await nextTicks();
    await timers.advance(2_000);
  }
  expect(failures).toHaveLength(8);
  expect(busClient.stored).toHaveLength(9);
  expect(new Set(busClient.stored.map(({ message }) => message.toString())).size).toBe(1);
  busClient.stored[8]?.finish();
  await nextTicks();
  expect([stored, journal.unstored]).toEqual([1, 0]);
});

test('retryNow() ends the delay of all retries', async () => {
  journal.append(0, event(), () => undefined);
  await nextTicks();
  busClient.stored[0]?.finish('disconnected');
  await nextTicks();
  expect(busClient.stored).toHaveLength(1);
  journal.retryNow();
  await nextTicks();
  expect(busClient.stored).toHaveLength(2);
});

// Covers r3
test('an event unstored for more than 2 s stops admissions until all are stored', async () => {
  journal.append(0, event(), () => undefined);
  await nextTicks();
  await timers.advance(2_000);
  expect(journal.mayAdmit()).toBe(true);
  await timers.advance(1_000);
  expect(journal.mayAdmit()).toBe(false);
  journal.append(1, event(), () => undefined);
  await nextTicks();
  busClient.stored[0]?.finish();
  await nextTicks();
  expect(journal.oldestAgeMs()).toBe(0);
  expect(journal.mayAdmit()).toBe(false);
  busClient.stored[1]?.finish();
  await nextTicks();
  expect(journal.mayAdmit()).toBe(true);
});

test('an event that was stored while the process was blocked is not late', async () => {
  journal.append(0, event(), () => undefined);
  await nextTicks();
  timers.block(5_000);
  expect(journal.mayAdmit()).toBe(true);
  busClient.stored[0]?.finish();
  await nextTicks();
  expect(journal.mayAdmit()).toBe(true);
});

// Covers r3
test.each([
  ['20,000 events', 20_000, 1],
  ['64 MiB', 16, 4 * 1024 * 1024],
])('%s that are unstored stop admissions until one is stored', async (_name, events, bytes) => {
  const json = Buffer.alloc(bytes, ' ');
  const append = () => journal.appendFrozen({ shard: 0, json }, () => undefined);
  for (let n = 1; n < events; n += 1) append();
  expect(journal.mayAdmit()).toBe(true);
  append();
  expect(journal.mayAdmit()).toBe(false);
  await nextTicks();
  busClient.stored[0]?.finish();
  await nextTicks();
  expect(journal.mayAdmit()).toBe(true);
});

test('idle() resolves with the number of unstored events', async () => {
  journal.append(0, event(), () => undefined);
  await nextTicks();
  const left = journal.idle(1_000);
  await timers.advance(1_000);
  expect(await left).toBe(1);
  const idle = journal.idle(1_000);
  busClient.stored[0]?.finish();
  expect(await idle).toBe(0);
});
