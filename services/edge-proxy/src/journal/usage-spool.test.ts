import { formatPackedEvent } from '@gateway/contracts/messages';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '@gateway/service-kit';
import { recordingLog, until } from '@gateway/testkit';
import { ManualClock } from '@gateway/testkit/clocks';
import { testEvent } from '../../test/test-event.js';
import { storeLeftUsage } from './leave-usage.js';
import { formatLine, type UnstoredEvent } from './unstored-line.js';
import { UsageSpool } from './usage-spool.js';

let directory: string;
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'gateway-spool-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const unstored = (shard: number): UnstoredEvent => ({ shard, json: Buffer.from(formatPackedEvent(testEvent())) });
const textOf = (events: readonly UnstoredEvent[]): string =>
  events.map((event) => `${JSON.stringify(formatLine(event))}\n`).join('');

/** A journal whose stream the test controls. */
class Stream {
  readonly taken: UnstoredEvent[] = [];
  readonly waiting: (() => void)[] = [];
  isThere = true;
  appendFrozen = (event: UnstoredEvent, stored: () => void): void => {
    this.taken.push(event);
    if (this.isThere) stored();
    else this.waiting.push(stored);
  };
}

async function start(stream = new Stream()): Promise<{ stream: Stream; log: ReturnType<typeof recordingLog> }> {
  const log = recordingLog();
  await storeLeftUsage(await UsageSpool.open(directory, 'next'), stream, log, systemClock).stop();
  return { stream, log };
}

test('events that an edge left are stored byte for byte, and its files are deleted', async () => {
  const events = [unstored(0), unstored(3), unstored(0)];
  const spool = await UsageSpool.open(directory, 'edge-1');
  await spool.keep(events.slice(0, 2));
  await spool.keep(events.slice(2));
  const files = readdirSync(directory).map((name) => join(directory, name));
  expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
  expect((await start()).stream.taken).toEqual(events);
  expect(readdirSync(directory)).toEqual([]);
});

test('a file is deleted only when the stream has all its events', async () => {
  const spool = await UsageSpool.open(directory, 'edge-1');
  await spool.keep([unstored(1), unstored(2)]);
  const stream = new Stream();
  stream.isThere = false;
  const storing = start(stream);
  const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  while (stream.waiting.length < 2) await tick();
  stream.waiting[0]?.();
  await tick();
  expect(readdirSync(directory)).toHaveLength(1);
  stream.waiting[1]?.();
  await storing;
  expect(readdirSync(directory)).toEqual([]);
});

test('a file that an edge adds while another edge stores its first one stays', async () => {
  const spool = await UsageSpool.open(directory, 'edge-1');
  const [first, second] = [unstored(1), unstored(2)];
  await spool.keep([first]);
  const stream = new Stream();
  stream.isThere = false;
  const storing = start(stream);
  await until('the first file is read', () => stream.waiting.length === 1);
  await spool.keep([second]);
  stream.waiting[0]?.();
  await storing;
  expect((await start()).stream.taken).toEqual([second]);
});

test('events that an edge leaves later are stored within a minute', async () => {
  const [clock, stream] = [new ManualClock(), new Stream()];
  const storing = storeLeftUsage(await UsageSpool.open(directory, 'other'), stream, recordingLog(), clock);
  const events = [unstored(1)];
  for (let minute = 0; minute < 2; minute += 1) {
    await until('nothing is left', () => readdirSync(directory).length === 0);
    await (await UsageSpool.open(directory, `edge-${minute}`)).keep(events);
    await until('it waits', () => clock.pending === 1);
    await clock.advance(60_000);
  }
  await storing.stop();
  expect(stream.taken).toEqual([...events, ...events]);
});

test('drop() deletes all files of the edge', async () => {
  const spool = await UsageSpool.open(directory, 'edge-1');
  await spool.keep([unstored(1)]);
  await spool.keep([unstored(2)]);
  await spool.drop();
  expect(readdirSync(directory)).toEqual([]);
});

test('a truncated last line is kept as .broken, and the lines before it are stored', async () => {
  const events = [unstored(0), unstored(1)];
  const torn = textOf([...events, unstored(2)]).slice(0, -40);
  writeFileSync(join(directory, 'unstored-edge-1.jsonl'), torn);
  const { stream, log } = await start();
  expect(stream.taken).toEqual(events);
  expect(readdirSync(directory)).toEqual(['unstored-edge-1.jsonl.broken']);
  expect(readFileSync(join(directory, 'unstored-edge-1.jsonl.broken'), 'utf8')).toBe(torn);
  expect(log.lines).toEqual([
    expect.objectContaining({ level: 'error', facts: expect.objectContaining({ events: 2, broken: 1 }) }),
  ]);
  expect((await start()).stream.taken).toEqual([]);
});

test('two files with the same event send it to the stream twice, in the same bytes', async () => {
  const events = [unstored(0)];
  for (const name of ['a', 'b']) writeFileSync(join(directory, `unstored-${name}.jsonl`), textOf(events));
  expect((await start()).stream.taken).toEqual([...events, ...events]);
  expect(readdirSync(directory)).toEqual([]);
});

test('a file with lines of an unknown version stays, and its known lines are stored', async () => {
  const known = unstored(0);
  const newer = JSON.stringify({ ...formatLine(unstored(1)), unstoredUsage: 2 });
  writeFileSync(join(directory, 'unstored-newer.jsonl'), `${textOf([known])}${newer}\n`);
  const { stream, log } = await start();
  expect(stream.taken).toEqual([known]);
  expect(readdirSync(directory)).toEqual(['unstored-newer.jsonl']);
  expect(log.lines).toEqual([
    expect.objectContaining({ level: 'error', facts: expect.objectContaining({ unknown: 1 }) }),
  ]);
});

test.each([
  ['an unknown shard', { ...formatLine(unstored(0)), shard: 99 }],
  ['an invalid event', { ...formatLine(unstored(0)), event: '{"id":"x"}' }],
  ['something else', { hello: 'world' }],
])('a line with %s is never sent to the stream', async (_what, line) => {
  writeFileSync(join(directory, 'unstored-edge-1.jsonl'), `${JSON.stringify(line)}\n`);
  expect((await start()).stream.taken).toEqual([]);
  expect(readdirSync(directory)).toEqual(['unstored-edge-1.jsonl.broken']);
});

test('files with other names are ignored', async () => {
  writeFileSync(join(directory, 'unstored-edge-1.jsonl.new'), 'half');
  writeFileSync(join(directory, 'notes.txt'), 'mine');
  await start();
  expect(readdirSync(directory)).toEqual(['notes.txt', 'unstored-edge-1.jsonl.new']);
});

test('open() rejects a directory that cannot be written and names the variable', async () => {
  const file = join(directory, 'taken');
  writeFileSync(file, '');
  chmodSync(file, 0o400);
  await expect(UsageSpool.open(join(file, 'below'), 'edge-1')).rejects.toThrow(/GATEWAY_USAGE_SPOOL_DIRECTORY/);
});
