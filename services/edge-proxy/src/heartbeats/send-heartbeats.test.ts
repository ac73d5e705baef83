import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  HEARTBEAT_BYTES_MAX,
  HEARTBEAT_CALLS_MAX,
  edgeHeartbeat,
  edgeShortHeartbeat,
  type HoldFields,
} from '@gateway/contracts/messages';
import { ManualClock } from '@gateway/testkit/clocks';
import { makeAdmission, FakeBusClient, TEST_BUCKET } from '../../test/fake-bus-client.js';
import { AdmissionClient } from '../admission/admission-client.js';
import { EdgeClock } from '../admission/edge-clock.js';
import { EpochTracker } from '../admission/epoch-tracker.js';
import { KnownReplicas } from '../admission/known-replicas.js';
import type { Heartbeat, HeartbeatReply } from '../ports.js';
import { RunningCalls, type CallWithHold } from './running-calls.js';
import { Heartbeats } from './send-heartbeats.js';
import { TickEnd } from '../admission/tick-batch.js';

let busClient: FakeBusClient;
let admissionClient: AdmissionClient;
let running: RunningCalls;
let epochs: EpochTracker;
let heartbeats: Heartbeats;
let aborted: string[];
let timers: ManualClock;

beforeEach(() => {
  busClient = new FakeBusClient();
  running = new RunningCalls();
  epochs = new EpochTracker(() => 0);
  aborted = [];
  const clock = new EdgeClock({ nowMs: Date.now });
  timers = new ManualClock();
  admissionClient = new AdmissionClient({
    edge: 'e0',
    bus: busClient,
    tickEnd: new TickEnd(),
    clock,
    epochs,
    replicas: new KnownReplicas(),
    timers,
    mayAdmit: () => true,
  });
  heartbeats = new Heartbeats({
    edge: 'e0',
    everyMs: 60_000,
    bus: busClient,
    clock,
    epochs,
    admissionClient,
    running,
    timers,
    onFailed: () => undefined,
  });
});
afterEach(async () => {
  await heartbeats.stop();
  admissionClient.stop();
});

function heldCall(callEpoch = 't1'): CallWithHold {
  const id = makeUuidV7(Date.now());
  const answer = makeAdmission(callEpoch, id);
  if (answer.kind !== 'admitted' || answer.hold === null) throw new Error('not admitted');
  const call: CallWithHold = {
    id,
    endpoint: '/v1/chat/completions',
    hold: answer.hold,
    bucket: TEST_BUCKET,
    callEpoch,
    abort: () => void aborted.push(id),
  };
  running.add(call);
  return call;
}

/** Returns an epoch as long as those of the limit store. */
const bucketEpoch = (n: number): string => `${'a'.repeat(40)}.${1_800_000_000_000 + n}.${'b'.repeat(16)}`;

const reply = (more: Partial<HeartbeatReply>): HeartbeatReply => ({
  n: 1,
  chunk: 0,
  epochs: [],
  abort: [],
  released: [],
  now: 0,
  ...more,
});

test('an idle edge sends heartbeats with increasing numbers', async () => {
  await heartbeats.send();
  await heartbeats.send();
  expect(busClient.heartbeats).toMatchObject([
    { n: 1, chunk: 0, chunks: 1, calls: [], releases: [], last: false },
    { n: 2, chunk: 0 },
  ]);
});

// Covers r4; r5
test('a heartbeat lists each call with its hold and epoch and each unanswered release', async () => {
  const call = heldCall();
  admissionClient.release({ blind: true, id: makeUuidV7(0), digests: ['0'.repeat(64)] }, null);
  await heartbeats.send();
  const [heartbeat, ...others] = busClient.heartbeats;
  expect(edgeHeartbeat.body.parse(heartbeat)).toEqual(heartbeat);
  expect(heartbeat?.calls).toEqual([{ id: call.id, hold: call.hold, callEpoch: 't1', endpoint: call.endpoint }]);
  expect([heartbeat?.releases.length, others]).toEqual([1, []]);
});

test('more than 500 calls are split into chunks of one heartbeat', async () => {
  for (let count = 0; count < HEARTBEAT_CALLS_MAX + 1; count += 1) heldCall();
  await heartbeats.send();
  expect(busClient.heartbeats.map(({ n, chunk, chunks, calls }) => [n, chunk, chunks, calls.length])).toEqual([
    [1, 0, 2, HEARTBEAT_CALLS_MAX],
    [1, 1, 2, 1],
  ]);
});

test('the calls of a bucket are in one message', async () => {
  const calls = Array.from({ length: 2 * HEARTBEAT_CALLS_MAX }, () => heldCall());
  for (const [at, call] of calls.entries()) {
    running.remove(call.id);
    running.add({ ...call, bucket: at % 2 });
  }
  await heartbeats.send();
  const buckets = busClient.heartbeats.map(
    (part) => new Set(part.calls.map(({ id }) => calls.findIndex((call) => call.id === id) % 2)),
  );
  expect(buckets).toEqual([new Set([0]), new Set([1])]);
});

test('a heartbeat with long items is split into parts that fit, without losing any', async () => {
  const [first] = [heldCall()];
  running.remove(first.id);
  const windows = (['session_5h', 'weekly', 'monthly'] as const).flatMap((type) =>
    (['usd', 'requests'] as const).map((unit) => ({ type, unit })),
  );
  const subscription = { id: 's'.repeat(60), start: Date.now(), end: Date.now() };
  const hold: HoldFields = {
    ...first.hold,
    model: `acme/${'m'.repeat(120)}`,
    key: 'k'.repeat(100),
    member: 'b'.repeat(100),
    windows,
    allotment: 'usd',
    periods: { ...first.hold.periods, session5h: Date.now(), weekly: Date.now(), subscription },
  };
  for (let bucket = 0; bucket < 256; bucket += 1) epochs.observe(bucket, bucketEpoch(bucket));
  const ids = Array.from({ length: 1_200 }, () => makeUuidV7(Date.now()));
  for (const id of ids) {
    const callEpoch = bucketEpoch(0);
    const abort = (): void => undefined;
    running.add({ id, endpoint: '/v1/chat/completions', hold: { ...hold }, bucket: TEST_BUCKET, callEpoch, abort });
    admissionClient.release({ blind: false, id, hold: { ...hold }, callEpoch, outcome: 'ok', amountNanoUsd: 1 }, null);
  }
  await heartbeats.send();
  const sizes = busClient.heartbeats.map((heartbeat) =>
    Buffer.byteLength(JSON.stringify({ ...heartbeat, v: edgeHeartbeat.version })),
  );
  expect(Math.max(...sizes)).toBeLessThanOrEqual(HEARTBEAT_BYTES_MAX);
  expect(busClient.heartbeats.flatMap(({ calls }) => calls.map(({ id }) => id))).toEqual(ids);
  expect(busClient.heartbeats.flatMap(({ releases }) => releases.map(({ id }) => id))).toEqual(ids);
  expect(busClient.heartbeats.map(({ chunk, chunks }) => [chunk, chunks])).toEqual(
    busClient.heartbeats.map((_heartbeat, index) => [index, busClient.heartbeats.length]),
  );
  for (const heartbeat of busClient.heartbeats) expect(edgeHeartbeat.body.safeParse(heartbeat).success).toBe(true);
  // A heartbeat reply applies to one part, so it changes the call epochs of that part only.
  heartbeats.onReply(reply({ n: 1, chunk: 1, epochs: [{ bucket: TEST_BUCKET, epoch: bucketEpoch(1_000) }] }));
  const changed = running.all().filter(({ callEpoch }) => callEpoch === bucketEpoch(1_000));
  expect(changed.map(({ id }) => id)).toEqual(busClient.heartbeats[1]?.calls.map(({ id }) => id));
});

// Covers r5
test('a call epoch changes only by a reply to a heartbeat that listed the call', async () => {
  epochs.observe(TEST_BUCKET, 't1');
  const early = heldCall();
  await heartbeats.send();
  const late = heldCall();
  heartbeats.onReply(reply({ n: 1, epochs: [{ bucket: TEST_BUCKET, epoch: 't2' }] }));
  expect([early.callEpoch, late.callEpoch]).toEqual(['t2', 't1']);
  await heartbeats.send();
  heartbeats.onReply(reply({ n: 2, epochs: [{ bucket: TEST_BUCKET, epoch: 't1' }] }));
  expect([early.callEpoch, late.callEpoch]).toEqual(['t2', 't1']);
  heartbeats.onReply(reply({ n: 2, chunk: 1, epochs: [{ bucket: TEST_BUCKET, epoch: 't2' }] }));
  expect([early.callEpoch, late.callEpoch]).toEqual(['t2', 't2']);
});

const answered = async (more: Partial<HeartbeatReply> = {}): Promise<Heartbeat | undefined> => {
  await heartbeats.send();
  const sent = busClient.heartbeats.at(-1);
  heartbeats.onReply(reply({ n: sent?.n ?? 0, ...more }));
  return sent;
};

// Covers r5
test('a short heartbeat names the listed calls and lists only new ones', async () => {
  epochs.observe(TEST_BUCKET, bucketEpoch(1));
  epochs.observe(TEST_BUCKET + 1, bucketEpoch(2));
  const [first, ended] = [heldCall(), heldCall()];
  expect('names' in ((await answered()) ?? {})).toBe(false);
  running.remove(ended.id);
  const late = heldCall();
  epochs.observe(TEST_BUCKET, bucketEpoch(0.5));
  await answered();
  const parts = busClient.heartbeats.slice(1);
  for (const part of parts) expect(edgeShortHeartbeat.body.parse(part)).toEqual(part);
  const names = (ids: string[]) => [{ callEpoch: 't1', accounts: [{ account: first.hold.account, ids }] }];
  expect(parts).toMatchObject([
    { n: 2, chunk: 0, chunks: 2, epochs: [], run: epochs.run(), names: names([first.id]), calls: [] },
    { n: 2, chunk: 1, chunks: 2, epochs: [], run: epochs.run(), names: [], calls: [{ id: late.id }] },
  ]);
  epochs.observe(TEST_BUCKET, bucketEpoch(3));
  const later = heldCall();
  await answered();
  expect(busClient.heartbeats.slice(3)).toMatchObject([
    { n: 3, epochs: [{ bucket: TEST_BUCKET, epoch: bucketEpoch(3) }], names: names([first.id, late.id]), calls: [] },
    { n: 3, names: [], calls: [{ id: later.id }] },
  ]);
  // Messages that list calls stay in the stream. Messages that only name them replace each other.
  expect(busClient.places).toEqual(['0', '0', 'new-1', '0', 'new-2']);
});

test('a reply sets the epoch of a call that was only named', async () => {
  const call = heldCall();
  await answered();
  await answered({ epochs: [{ bucket: TEST_BUCKET, epoch: 't2' }] });
  expect(call.callEpoch).toBe('t2');
});

// Covers r5
test.each<[string, () => unknown]>([
  [
    '64 messages have listed new calls',
    async () => {
      for (let count = 0; count < 64; count += 1) {
        heldCall();
        await answered();
      }
    },
  ],
  ['30 seconds have passed', () => timers.block(30_000)],
  ['the previous one was not answered', () => heartbeats.send()],
  ['admission requests a full one', () => heartbeats.onReply(reply({ n: 2, full: true }))],
  ['admission restores a bucket', () => heartbeats.onResyncRequest({ epochs: [{ bucket: 9, epoch: bucketEpoch(9) }] })],
  [
    'the previous one was not stored',
    async () => {
      const store = busClient.storeHeartbeat.bind(busClient);
      busClient.storeHeartbeat = () => Promise.reject(new Error('not stored'));
      await answered();
      busClient.storeHeartbeat = store;
      heartbeats.onReply(reply({ n: 3 }));
    },
  ],
])('the next heartbeat is full when %s', async (_why, happens) => {
  heldCall();
  await answered();
  expect(await answered()).toHaveProperty('names');
  await happens();
  expect(await answered()).not.toHaveProperty('names');
});

test('a heartbeat reply ends calls and confirms releases', async () => {
  const call = heldCall();
  const id = makeUuidV7(0);
  admissionClient.release({ blind: true, id, digests: ['0'.repeat(64)] }, null);
  await heartbeats.send();
  heartbeats.onReply(reply({ abort: [call.id, makeUuidV7(1)], released: [id] }));
  expect(aborted).toEqual([call.id]);
  expect(admissionClient.unansweredReleases()).toEqual([]);
});

test('a resync request is answered immediately by a heartbeat with the new epoch', async () => {
  heartbeats.onResyncRequest({ epochs: [{ bucket: 7, epoch: 'new' }] });
  expect(busClient.heartbeats).toMatchObject([{ epochs: [{ bucket: 7, epoch: 'new' }] }]);
});

test('requests during a heartbeat share one more, which quotes all their epochs', async () => {
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const sent: Heartbeat[] = [];
  busClient.storeHeartbeat = async (heartbeat) => {
    sent.push(heartbeat);
    await held;
  };
  heartbeats.onResyncRequest({ epochs: [{ bucket: 1, epoch: 'new' }] });
  for (let bucket = 2; bucket < 50; bucket += 1) heartbeats.onResyncRequest({ epochs: [{ bucket, epoch: 'new' }] });
  const asked = heartbeats.send();
  expect(sent).toHaveLength(1);
  goOn();
  await asked;
  expect(sent.map(({ epochs }) => epochs.length)).toEqual([1, 49]);
});

test('a resync request sends a heartbeat only for epochs that were not quoted yet', async () => {
  const asks = async (epoch: string): Promise<number> => {
    heartbeats.onResyncRequest({ epochs: [{ bucket: 7, epoch }] });
    await new Promise(setImmediate);
    return busClient.heartbeats.length;
  };
  expect([await asks(bucketEpoch(1)), await asks(bucketEpoch(1)), await asks(bucketEpoch(2))]).toEqual([1, 1, 2]);
  // This epoch is superseded: the edge has already quoted a newer one.
  expect(await asks(bucketEpoch(1))).toBe(2);
  busClient.storeHeartbeat = async (heartbeat) => {
    busClient.heartbeats.push(heartbeat);
    throw new Error('not stored');
  };
  expect([await asks(bucketEpoch(3)), await asks(bucketEpoch(3))]).toEqual([3, 4]);
});

test('stop() sends a last heartbeat that is marked as last', async () => {
  await heartbeats.stop();
  expect(busClient.heartbeats.at(-1)).toMatchObject({ last: true, calls: [] });
  const sent = busClient.heartbeats.length;
  heartbeats.onResyncRequest({ epochs: [] });
  expect(busClient.heartbeats).toHaveLength(sent);
});
