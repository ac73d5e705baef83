import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startTelemetry } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { testEpoch } from '@gateway/testkit/random';
import { ENTRIES_IN_FLIGHT_MAX } from './admit-batch.js';
import { ENTRY_DEADLINE_MS } from './batch-run.js';
import { PRICE, admit, admitEntry, batch, makeAccount, makeWorld, mustAdmit, release } from '../../test/world.js';
import type { Replica, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  // It stops Redis, takes its memory away and counts its reads.
  world = await makeWorld({ own: true });
  one = await world.replica();
});
afterAll(() => world.stop());

test('a call within all limits is admitted and held until its release', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const admitted = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(admitted).toMatchObject({ account: account.account, repeated: false, sources: ['src-acme-fixed'] });
  expect(admitted.hold).toMatchObject({
    worstNanoUsd: PRICE,
    planMaxNanoUsd: 0,
    walletMaxNanoUsd: null,
    key: account.key,
  });
  const running = await one.admission.readAccount(account.account);
  expect(running.slots).toBe(1);
  expect(running.held['wallet']).toBe(PRICE);
  const { released } = await batch(one, { releases: [release(admitted, 'void')] });
  expect(released).toEqual([admitted.id]);
  const ended = await one.admission.readAccount(account.account);
  expect(ended.slots).toBe(0);
  expect(ended.held).toEqual({});
  expect(ended.holds.map(({ hold }) => hold.state)).toEqual(['gone']);
});

test('an unknown digest gets invalid_api_key after a single query to its owner', async () => {
  const before = world.owners.asked.find;
  for (let call = 0; call < 2; call += 1) {
    expect(await admit(one, admitEntry(one.clock, ['f'.repeat(64)]))).toMatchObject({
      kind: 'refused',
      code: 'invalid_api_key',
    });
  }
  expect(world.owners.asked.find - before).toBe(1);
});

test('opens, admits and releases of cached accounts get one reply', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const ended = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const entries = [admitEntry(one.clock, [account.digest]), admitEntry(one.clock, [account.digest])];
  const open = { id: admitEntry(one.clock, []).id, digests: [account.digest] };
  const { answers, released, replies } = await batch(one, {
    opens: [open],
    admits: entries,
    releases: [release(ended, 'ok', 5)],
  });
  expect(replies).toBe(1);
  expect(answers.size).toBe(3);
  expect(released).toEqual([ended.id]);
});

test('messages that arrive together share one round trip to Redis', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const redis = new Redis(world.server.url);
  const reads = async () => Number(/^total_reads_processed:(\d+)/m.exec(await redis.info('stats'))?.[1]);
  const before = await reads();
  await Promise.all([1, 2, 3].map(() => mustAdmit(one, admitEntry(one.clock, [account.digest]))));
  const after = await reads();
  redis.disconnect();
  // The second read of the counter is included.
  expect(after - before).toBe(2);
});

// Covers r2
test('an entry that waits for an owner is answered alone within its deadline', async () => {
  const replica = await world.replica({ durations: { decideMs: ENTRY_DEADLINE_MS } });
  const ready = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(replica, admitEntry(replica.clock, [ready.digest]));
  const slow = makeAccount(world, { wallet: 10 * PRICE });
  let free: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (free = resolve));
  world.owners.delay = () => held;
  const startedAt = performance.now();
  const entries = [admitEntry(replica.clock, [slow.digest]), admitEntry(replica.clock, [ready.digest])];
  const { answers, replies } = await batch(replica, { admits: entries });
  const tookMs = performance.now() - startedAt;
  world.owners.delay = async () => undefined;
  free();
  expect(replies).toBe(2);
  expect(answers.get(entries[1]!.id)).toMatchObject({ kind: 'admitted' });
  expect(answers.get(entries[0]!.id)).toMatchObject({ kind: 'fault' });
  expect(tookMs).toBeGreaterThanOrEqual(ENTRY_DEADLINE_MS - 50);
  // Nothing is decided for it later, although its account has been loaded by now.
  await until('nothing is in flight', () => replica.admission.inFlight() === 0);
  expect((await replica.admission.readAccount(slow.account)).holds).toEqual([]);
});

test('entries above the limit get a fault at once while releases are applied', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const running = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  let free: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (free = resolve));
  world.owners.delay = () => held;
  const unknown = makeAccount(world, { wallet: 1 });
  const waiting: Promise<unknown>[] = [];
  for (let sent = 0; sent < ENTRIES_IN_FLIGHT_MAX; sent += 256) {
    const admits = Array.from({ length: 256 }, () => admitEntry(one.clock, [unknown.digest]));
    waiting.push(batch(one, { admits }));
  }
  expect(one.admission.inFlight()).toBe(ENTRIES_IN_FLIGHT_MAX);
  const entry = admitEntry(one.clock, [account.digest]);
  const { answers, released } = await batch(one, { admits: [entry], releases: [release(running, 'void')] });
  expect(answers.get(entry.id)).toEqual({ kind: 'fault', id: entry.id, code: 'admission_error' });
  expect(released).toEqual([running.id]);
  world.owners.delay = async () => undefined;
  free();
  await Promise.all(waiting);
  expect(one.admission.inFlight()).toBe(0);
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'admitted' });
});

// Covers r14
test('a full Redis admits nothing but still runs releases, changes and sweeps', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const running = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const redis = new Redis(world.server.url);
  const [, usual = '0'] = (await redis.config('GET', 'maxmemory')) as string[];
  await redis.config('SET', 'maxmemory', '1mb');
  try {
    const barred = await admit(one, admitEntry(one.clock, [account.digest]));
    expect(barred).toMatchObject({ kind: 'fault', code: 'admission_error' });
    const { released } = await batch(one, { releases: [release(running, 'ok', 7)] });
    expect(released).toEqual([running.id]);
    const row = { name: 'wallet', value: 9 * PRICE, version: 2 };
    const snapshot = { account: account.account, rows: [row], closed: [running.id] };
    await one.admission.applySnapshots({ ledgerEpoch: testEpoch(1), accounts: [snapshot] });
    await one.admission.sweep();
  } finally {
    await redis.config('SET', 'maxmemory', usual);
    await redis.quit();
  }
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: {} });
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'admitted' });
});

test('a fault reports a possible hold only if the script may have run', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  world.backPressureReason = 'the test';
  const barred = await admit(one, admitEntry(one.clock, [account.digest]));
  world.backPressureReason = null;
  expect(barred).toMatchObject({ kind: 'fault' });
  expect(barred).not.toHaveProperty('mayHold');

  const hung = await world.replica({ durations: { decideMs: 2_000 } });
  await mustAdmit(hung, admitEntry(hung.clock, [account.digest]));
  process.kill(world.server.pid!, 'SIGSTOP');
  const entry = admitEntry(hung.clock, [account.digest]);
  const unknown = await admit(hung, entry).finally(() => process.kill(world.server.pid!, 'SIGCONT'));
  expect(unknown).toMatchObject({ kind: 'fault', code: 'admission_error', mayHold: true });
  // The script ran. Without the edge's release its slot would stay taken for a lease.
  await until('Redis has gone on', async () => {
    const { holds } = await one.admission.readAccount(account.account).catch(() => ({ holds: [] }));
    return holds.some(({ id }) => id === entry.id);
  });
});

test('an entry of a sampled call opens a span with a child span for its script', async () => {
  const bodies: string[] = [];
  const collector = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const telemetry = startTelemetry({
    service: 'admission',
    replica: 'one',
    version: '0',
    otlpEndpoint: `http://127.0.0.1:${port}`,
  });
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const [trace, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const sampled = admitEntry(one.clock, [account.digest], { traceparent: `00-${trace}-${parent}-01` });
  const unsampled = admitEntry(one.clock, [account.digest], { traceparent: `00-${trace}-${parent}-00` });
  await batch(one, { admits: [sampled, unsampled] });
  await telemetry.shutdown();
  collector.close();
  const spans = bodies.flatMap((body) => spansOf(JSON.parse(body)));
  expect(spans).toHaveLength(2);
  const [decision] = spans.filter(({ name }) => name === 'admission.admit');
  expect(decision).toMatchObject({ traceId: trace, parentSpanId: parent });
  const [script] = spans.filter(({ name }) => name === 'EVALSHA');
  expect(script).toMatchObject({ traceId: trace, parentSpanId: decision?.spanId });
});

interface Exported {
  resourceSpans: {
    scopeSpans: { spans: { name: string; traceId: string; spanId: string; parentSpanId: string }[] }[];
  }[];
}

function spansOf(body: Exported) {
  return body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}
