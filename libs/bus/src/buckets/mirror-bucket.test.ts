import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { connect, headers } from 'nats';
import { faultCode, startBusWorld, TEST_TIMEOUT_MS, until, type BusWorld } from '../../test/bus-world.js';
import type { BucketHead, BucketMirror, Bus } from '../index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

interface Seen {
  mirror: BucketMirror;
  entries: ReadonlyMap<string, string>;
  head: BucketHead | undefined;
  swaps: (readonly string[])[];
}

let world: BusWorld;
let catalog: Bus;
let edge: Bus;

beforeEach(async () => {
  world = await startBusWorld();
  [catalog, edge] = await Promise.all([world.connect('catalog'), world.connect('edge-proxy')]);
});
afterEach(() => world.stop());

function watch(bus: Bus): Seen {
  const seen: Seen = { mirror: undefined as never, entries: new Map(), head: undefined, swaps: [] };
  seen.mirror = bus.mirrorBucket('catalog', (entries, head, changed) => {
    seen.entries = entries;
    seen.head = head;
    seen.swaps.push([...changed].sort());
  });
  return seen;
}

function models(count: number, text = 'price'): Map<string, string> {
  return new Map(
    Array.from({ length: count }, (_, n) => [`openai/gpt-4.${n}:free@x ü`, `{"n":${n},"text":"${text}"}`]),
  );
}

/**
 * Writes without the bus, as an operator could. An empty text removes an entry, `empty` purges the
 * bucket.
 */
async function asOperator(act: (request: (subject: string, body: string) => Promise<void>) => Promise<void>) {
  const nats = await connect(world.owner);
  await act(async (subject, body) => {
    const named = headers();
    if (body === '') named.set('KV-Operation', 'DEL');
    if (body === 'empty') named.set('Nats-Rollup', 'all');
    await nats.request(subject, body, { timeout: 20_000, headers: named });
  });
  await nats.close();
}

test('a mirror loads, follows changes and deletions, and lists changed keys', async () => {
  const seen = watch(edge);
  expect(seen.mirror.ready()).toBe(false);
  expect(seen.mirror.ageMs(Date.now())).toBe(Infinity);
  const entries = models(1_000);
  await catalog.publishBucket('catalog', entries, 1);
  await until('the first load', () => seen.mirror.ready());
  expect(seen.entries).toEqual(entries);
  expect(seen.head).toEqual(await catalog.bucketHead('catalog'));
  expect(seen.mirror.revision()).toBe(1);

  const changed = new Map(entries).set('openai/gpt-4.7:free@x ü', 'dearer').set('new/model', 'x');
  changed.delete('openai/gpt-4.9:free@x ü');
  await catalog.publishBucket('catalog', changed, 2);
  await until('the change', () => seen.mirror.revision() === 2);
  expect(seen.entries).toEqual(changed);
  expect(seen.swaps).toHaveLength(2);
  expect(seen.swaps[1]).toEqual(['new/model', 'openai/gpt-4.7:free@x ü', 'openai/gpt-4.9:free@x ü']);
  await until('the server was heard', () => seen.mirror.ageMs(Date.now()) < 1_500);

  const late = watch(edge);
  await until('a second mirror', () => late.mirror.ready());
  expect(late.entries).toEqual(changed);
});

test('an unchanged publication changes nothing, a new revision alone is reported', async () => {
  const entries = models(10);
  await catalog.publishBucket('catalog', entries, 1);
  const seen = watch(edge);
  await until('the first load', () => seen.mirror.ready());
  await catalog.publishBucket('catalog', entries, 1);
  await catalog.publishBucket('catalog', entries, 5);
  await until('the revision', () => seen.mirror.revision() === 5);
  expect(seen.swaps.map((changed) => changed.length)).toEqual([10, 0]);
  expect(await catalog.bucketHead('catalog')).toMatchObject({ revision: 5, count: 10 });
});

test('two concurrent publications of one process end with a complete bucket', async () => {
  const seen = watch(edge);
  await Promise.all([
    catalog.publishBucket('catalog', models(50, 'a'), 1),
    catalog.publishBucket('catalog', models(40, 'b'), 2),
  ]);
  await until('the last', () => seen.mirror.revision() === 2);
  expect(seen.entries).toEqual(models(40, 'b'));
});

test('one of two publishing processes gets conflict and completes by repeating', async () => {
  const seen = watch(edge);
  const other = await world.connect('catalog');
  const codes = await Promise.all([
    faultCode(catalog.publishBucket('catalog', models(50, 'a'), 1)),
    faultCode(other.publishBucket('catalog', models(40, 'b'), 2)),
  ]);
  expect(codes.filter((code) => code === 'no fault').length).toBeGreaterThan(0);
  expect(codes.every((code) => code === 'no fault' || code === 'conflict')).toBe(true);
  await other.publishBucket('catalog', models(40, 'b'), 2);
  await until('the last', () => seen.mirror.revision() === 2);
  expect(seen.entries).toEqual(models(40, 'b'));
});

test('a mirror keeps its copy of an emptied bucket until it is published again', async () => {
  await catalog.publishBucket('catalog', models(20), 1);
  const seen = watch(edge);
  await until('the first load', () => seen.mirror.ready());
  await asOperator((request) => request('$KV.catalog.head', 'empty'));
  expect(await catalog.bucketHead('catalog')).toBeNull();
  expect((await catalog.lastPerSubject('KV_catalog' as never, '$KV.catalog.>')).length).toBe(1);
  expect(seen.entries).toEqual(models(20));
  await catalog.publishBucket('catalog', models(10), 2);
  await until('the smaller bucket', () => seen.mirror.revision() === 2);
  expect(seen.entries).toEqual(models(10));
});

test('publishBucket() refuses an entry above 64 KiB and writes nothing', async () => {
  const entries = models(3).set('large', 'ü'.repeat(32 * 1024 + 1));
  expect(await faultCode(catalog.publishBucket('catalog', entries, 1))).toBe('too_large');
  expect(await catalog.bucketHead('catalog')).toBeNull();
});

test('a mirror keeps its copy if the bucket has no head or is half written', async () => {
  const entries = models(20);
  await catalog.publishBucket('catalog', entries, 1);
  const seen = watch(edge);
  await until('the first load', () => seen.mirror.ready());

  await asOperator((request) => request('$KV.catalog.entry.stray', 'half written'));
  const later = watch(edge);
  await catalog.publishBucket('catalog', entries, 2);
  await until('the stray entry is gone', () => seen.mirror.revision() === 2 && later.mirror.ready());
  expect(later.swaps).toHaveLength(1);
  expect(later.entries).toEqual(entries);

  await asOperator((request) => request('$KV.catalog.head', ''));
  expect(await catalog.bucketHead('catalog')).toBeNull();
  const headless = watch(edge);
  await asOperator(async (request) => {
    for (const n of [1, 2, 3]) await request(`$KV.catalog.entry.e${n}`, '');
  });
  await world.restart({ kill: true });
  await until('connected', () => edge.connected() && catalog.connected());
  await until('aged', () => seen.mirror.ageMs(Date.now()) > 1_500);
  expect(seen.entries).toEqual(entries);
  expect(seen.mirror.ready()).toBe(true);
  expect(headless.mirror.ready()).toBe(false);

  await catalog.publishBucket('catalog', entries, 3);
  await until('all again', () => seen.mirror.revision() === 3 && headless.mirror.ready());
  expect(headless.entries).toEqual(entries);
});

test('a mirror shows a change within seconds after a kill of the server', async () => {
  await catalog.publishBucket('catalog', models(100), 1);
  const seen = watch(edge);
  await until('the first load', () => seen.mirror.ready());
  await world.restart({ kill: true });
  await until('connected', () => edge.connected() && catalog.connected());
  await catalog.publishBucket('catalog', models(100, 'new'), 2);
  // Before the timeouts of this bus: the closed socket shows the loss.
  await until('the change', () => seen.mirror.revision() === 2);
  expect(seen.entries).toEqual(models(100, 'new'));
});

test('a mirror keeps its copy of an emptied store until the next publication', async () => {
  const entries = models(100);
  await catalog.publishBucket('catalog', entries, 4);
  const seen = watch(edge);
  await until('the first load', () => seen.mirror.ready());
  await world.restart({ kill: true, emptyState: true });
  await until('connected', () => edge.connected() && catalog.connected());
  expect(await catalog.bucketHead('catalog')).toBeNull();
  expect(seen.entries).toEqual(entries);
  entries.set('another', 'x');
  await catalog.publishBucket('catalog', entries, 5);
  await until('published again', () => seen.mirror.revision() === 5);
  expect(seen.entries).toEqual(entries);
  expect(seen.swaps.at(-1)).toEqual(['another']);
  await seen.mirror.stop();
});

test('a mirror that starts during a replacement shows the last revision', async () => {
  const entriesOf = (revision: number) => new Map([['a', String(revision)]]);
  await catalog.publishBucket('catalog', entriesOf(0), 0);
  for (let revision = 1; revision <= 300; revision += 1) {
    const mirror = edge.mirrorBucket('catalog', () => undefined);
    // Varies the moment of the replacement between the creation of the consumer and its first pull.
    for (let turn = 0; turn < revision % 6; turn += 1) await setImmediate();
    await catalog.publishBucket('catalog', entriesOf(revision), revision);
    await until('the last revision is shown', () => mirror.revision() === revision);
    await mirror.stop();
  }
});
