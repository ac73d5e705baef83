import { expect, test } from '@jest/globals';
import { formatPackedEvent } from '@gateway/contracts/messages';
import { recordingLog } from '@gateway/testkit';
import { testEvent } from '../../test/test-event.js';
import { UnstoredUsage } from './leave-usage.js';
import { replayUsage } from './replay-usage.js';
import type { UnstoredEvent } from './unstored-line.js';

const EVENTS: readonly UnstoredEvent[] = [0, 3].map((shard) => ({
  shard,
  json: Buffer.from(formatPackedEvent(testEvent())),
}));

/** A journal of two events. The stream stores them at the wait with this number, if at all. */
function journalTaken(atLook: number) {
  const waits: number[] = [];
  const rest = (): readonly UnstoredEvent[] => (waits.length >= atLook ? [] : EVENTS);
  return {
    waits,
    idle: (ms: number) => {
      waits.push(ms);
      return Promise.resolve(rest().length);
    },
    oldestAgeMs: () => 0,
    unstoredEvents: () => [...rest()],
  };
}

class FakeSpool {
  kept: readonly UnstoredEvent[] | null = null;
  keeps = 0;
  isFull = false;
  keep = (events: readonly UnstoredEvent[]): Promise<void> => {
    this.keeps += 1;
    if (this.isFull) return Promise.reject(new Error('no space left on device'));
    this.kept = events;
    return Promise.resolve();
  };
  keepAll = this.keep;
  drop = (): Promise<void> => {
    this.kept = null;
    return Promise.resolve();
  };
}

test('leave() writes nothing if the stream stores all events immediately', async () => {
  const [spool, log] = [new FakeSpool(), recordingLog()];
  expect(await new UnstoredUsage(journalTaken(1), spool, log).leave(10_000)).toBe('stored');
  expect([spool.keeps, log.lines]).toEqual([0, []]);
});

test('leave() keeps the file while it waits and deletes it when all is stored', async () => {
  const [spool, log] = [new FakeSpool(), recordingLog()];
  const journal = journalTaken(2);
  const { idle } = journal;
  journal.idle = (ms) => {
    if (journal.waits.length === 1) expect(spool.kept).toEqual(EVENTS);
    return idle(ms);
  };
  expect(await new UnstoredUsage(journal, spool, log).leave(10_000)).toBe('stored');
  expect(journal.waits.reduce((sum, ms) => sum + ms, 0)).toBe(10_000);
  expect([spool.keeps, spool.kept]).toEqual([1, null]);
});

// Covers an edge is told to stop
test('leave() keeps the file if the stream has not stored all events in ten seconds', async () => {
  const [spool, log] = [new FakeSpool(), recordingLog()];
  const journal = journalTaken(Infinity);
  expect(await new UnstoredUsage(journal, spool, log).leave(60_000)).toBe('kept');
  expect(journal.waits.reduce((sum, ms) => sum + ms, 0)).toBe(10_000);
  expect(spool.kept).toEqual(EVENTS);
});

// Covers an edge is told to stop
test.each([null, Object.assign(new FakeSpool(), { isFull: true })])(
  'leave() logs each event in a line that the command can store if no file works',
  async (spool) => {
    const log = recordingLog();
    const journal = journalTaken(Infinity);
    expect(await new UnstoredUsage(journal, spool, log).leave(60_000)).toBe('logged');
    expect(journal.waits.reduce((sum, ms) => sum + ms, 0)).toBe(60_000);
    // The log as a collector returns it: with prefixes, among other lines, with a truncated line
    // and one of a newer version.
    const lines = log.lines.map(
      ({ level, facts, text }) => `edge-proxy-1  | ${JSON.stringify({ level, ...facts, text })}`,
    );
    const cut = lines.at(-1)?.slice(0, -30) ?? '';
    const newer = JSON.stringify({ unstoredUsage: 2, shard: 0, event: '{}' });
    const stored: UnstoredEvent[] = [];
    const stream = {
      unstored: 0,
      idle: () => Promise.resolve(0),
      appendFrozen: (event: UnstoredEvent, done: () => void) => {
        stored.push(event);
        done();
      },
    };
    const replayed = await replayUsage(['not json', ...lines, cut, newer], stream);
    expect(stored).toEqual(EVENTS);
    expect(replayed.stored).toBe(2);
    expect(replayed.others).toBe(1 + lines.length - EVENTS.length);
    expect(replayed.problems).toEqual([
      `line ${lines.length + 2}: it is truncated`,
      `line ${lines.length + 3}: unknown version 2`,
    ]);
  },
);

test('replayUsage() rejects when the stream stores nothing', async () => {
  const stream = { unstored: 2, idle: () => Promise.resolve(2), appendFrozen: () => undefined };
  await expect(replayUsage([], stream)).rejects.toThrow(/has not stored 2 events/);
});
