import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { USAGE_EVENTS_MAX, USAGE_MESSAGE_BYTES_MAX, usageRecorded, type UsageEvent } from '@gateway/contracts/messages';
import { FakeLine } from '../../test/fake-line.js';
import { TEST_PRICE } from '../../test/fake-admission.js';
import { testEvent as event } from '../../test/test-event.js';
import { UsageJournal } from './store-usage.js';
import { TurnEnd } from '../admission/turn-end.js';

let nowMs: number;
let line: FakeLine;
let journal: UsageJournal;
let failures: string[];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'performance', 'setImmediate'] });
  nowMs = 0;
  failures = [];
  line = new FakeLine();
  journal = new UsageJournal({
    bus: line,
    turnEnd: new TurnEnd(),
    monotonicMs: () => nowMs,
    random: () => 0,
    onFailedTry: (code) => void failures.push(code),
  });
});
afterEach(() => void jest.useRealTimers());

/** Two turns: what settles in one sends at its end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const eventsIn = (message: Buffer | undefined): UsageEvent[] => {
  const { v, ...body } = JSON.parse(String(message)) as { v: number };
  expect(v).toBe(usageRecorded.version);
  return usageRecorded.body.parse(body).events;
};

test('the events of one turn of the event loop go at its end, one message for each shard', async () => {
  const shards = [1, 2, 1];
  for (const shard of shards) journal.append(shard, event(), () => undefined);
  expect(line.stored).toHaveLength(0);
  await settled();
  expect(line.stored.map(({ shard, message }) => [shard, eventsIn(message).length])).toEqual([
    [1, 2],
    [2, 1],
  ]);
});

test('what ends while a message is on its way is collected into the next message of its shard', async () => {
  const done: string[] = [];
  const events = Array.from({ length: 4 }, () => event());
  for (const [at, one] of events.slice(0, 3).entries()) {
    journal.append(1, one, () => done.push(one.id));
    if (at === 0) await settled();
  }
  journal.append(2, events[3] as UsageEvent, () => undefined);
  await settled();
  expect(line.stored.map(({ shard, message }) => [shard, eventsIn(message).length])).toEqual([
    [1, 1],
    [2, 1],
  ]);
  line.stored[0]?.settle();
  await settled();
  expect(done).toEqual([events[0]?.id]);
  expect(eventsIn(line.stored[2]?.message).map(({ id }) => id)).toEqual([events[1]?.id, events[2]?.id]);
  line.stored[2]?.settle();
  await settled();
  expect(done).toHaveLength(3);
  expect(journal.unstored).toBe(1);
});

test('a message holds at most 100 events and 256 KB', async () => {
  journal.append(0, event(), () => undefined);
  await settled();
  for (let count = 0; count < USAGE_EVENTS_MAX + 5; count += 1) journal.append(0, event(), () => undefined);
  line.stored[0]?.settle();
  await settled();
  expect(eventsIn(line.stored[1]?.message)).toHaveLength(USAGE_EVENTS_MAX);
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
  await settled();
  for (let at = 2; at < line.stored.length; at += 1) {
    line.stored[at]?.settle();
    await settled();
  }
  for (const { message } of line.stored) expect(message.length).toBeLessThanOrEqual(USAGE_MESSAGE_BYTES_MAX);
});

test('a failed message is tried for ever with the same bytes', async () => {
  let stored = 0;
  journal.append(0, event(), () => (stored += 1));
  await settled();
  for (let attempt = 0; attempt < 8; attempt += 1) {
    line.stored[attempt]?.settle('timeout');
    await settled();
    jest.advanceTimersByTime(2_000);
    await settled();
  }
  expect(failures).toHaveLength(8);
  expect(line.stored).toHaveLength(9);
  expect(new Set(line.stored.map(({ message }) => message.toString())).size).toBe(1);
  line.stored[8]?.settle();
  await settled();
  expect([stored, journal.unstored]).toEqual([1, 0]);
});

test('when the bus is back nobody waits for the end of a delay', async () => {
  journal.append(0, event(), () => undefined);
  await settled();
  line.stored[0]?.settle('disconnected');
  await settled();
  expect(line.stored).toHaveLength(1);
  journal.retryNow();
  await settled();
  expect(line.stored).toHaveLength(2);
});

test('an event unstored for more than 2 s stops admissions until none is left', async () => {
  journal.append(0, event(), () => undefined);
  await settled();
  expect(journal.mayAdmit()).toBe(true);
  nowMs = 2_001;
  expect(journal.mayAdmit()).toBe(false);
  journal.append(1, event(), () => undefined);
  await settled();
  line.stored[0]?.settle();
  await settled();
  expect(journal.oldestAgeMs()).toBe(0);
  expect(journal.mayAdmit()).toBe(false);
  line.stored[1]?.settle();
  await settled();
  expect(journal.mayAdmit()).toBe(true);
});

test('at a stop it says how many events are left', async () => {
  journal.append(0, event(), () => undefined);
  await settled();
  const left = journal.idle(1_000);
  jest.advanceTimersByTime(1_000);
  expect(await left).toBe(1);
  const idle = journal.idle(1_000);
  line.stored[0]?.settle();
  expect(await idle).toBe(0);
});
