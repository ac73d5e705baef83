import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { HEARTBEAT_BYTES_MAX, HEARTBEAT_CALLS_MAX, edgeHeartbeat, type HoldFields } from '@gateway/contracts/messages';
import { admittedUnder, FakeLine, TEST_BUCKET } from '../../test/fake-line.js';
import { AdmissionDesk } from '../admission/ask-admission.js';
import { EdgeClock } from '../admission/edge-clock.js';
import { GateTokens } from '../admission/gate-tokens.js';
import { KnownReplicas } from '../admission/known-replicas.js';
import type { Verdict } from '../ports.js';
import { RunningCalls, type HeldCall } from './running-calls.js';
import { Beats } from './send-beats.js';
import { TurnEnd } from '../admission/turn-end.js';

let line: FakeLine;
let desk: AdmissionDesk;
let running: RunningCalls;
let tokens: GateTokens;
let beats: Beats;
let aborted: string[];

beforeEach(() => {
  line = new FakeLine();
  running = new RunningCalls();
  tokens = new GateTokens();
  aborted = [];
  const clock = new EdgeClock({ nowMs: Date.now });
  const monotonicMs = (): number => performance.now();
  desk = new AdmissionDesk({
    edge: 'e0',
    bus: line,
    turnEnd: new TurnEnd(),
    clock,
    tokens,
    replicas: new KnownReplicas(),
    monotonicMs,
    mayAdmit: () => true,
  });
  beats = new Beats({
    edge: 'e0',
    everyMs: 60_000,
    bus: line,
    clock,
    tokens,
    desk,
    running,
    monotonicMs,
    onFailed: () => undefined,
  });
});
afterEach(async () => {
  await beats.stop();
  desk.stop();
});

function heldCall(tag = 't1'): HeldCall {
  const id = makeUuidV7(Date.now());
  const answer = admittedUnder(tag, id);
  if (answer.kind !== 'admitted' || answer.hold === null) throw new Error('not admitted');
  const call: HeldCall = {
    id,
    endpoint: '/v1/chat/completions',
    hold: answer.hold,
    bucket: TEST_BUCKET,
    tag,
    abort: () => void aborted.push(id),
  };
  running.add(call);
  return call;
}

/** As long as the gate's own are. */
const bucketEpoch = (n: number): string => `${'a'.repeat(40)}.${1_800_000_000_000 + n}.${'b'.repeat(16)}`;

const verdict = (more: Partial<Verdict>): Verdict => ({
  n: 1,
  chunk: 0,
  tokens: [],
  abort: [],
  released: [],
  now: 0,
  ...more,
});

test('an idle edge beats too, with growing numbers', async () => {
  await beats.beat();
  await beats.beat();
  expect(line.beats).toMatchObject([
    { n: 1, chunk: 0, chunks: 1, calls: [], releases: [], last: false },
    { n: 2, chunk: 0 },
  ]);
});

test('a beat names every call with its hold and tag, and every release that nobody answered', async () => {
  const call = heldCall();
  desk.release({ blind: true, id: makeUuidV7(0), digests: ['0'.repeat(64)] }, null);
  await beats.beat();
  const [beat, second] = line.beats;
  for (const part of line.beats) expect(edgeHeartbeat.body.parse(part)).toEqual(part);
  expect(beat?.calls).toEqual([{ id: call.id, hold: call.hold, tag: 't1', endpoint: call.endpoint }]);
  expect([beat?.releases, second?.calls, second?.releases.length]).toEqual([[], [], 1]);
});

test('more than 500 calls go in chunks of one beat', async () => {
  for (let count = 0; count < HEARTBEAT_CALLS_MAX + 1; count += 1) heldCall();
  await beats.beat();
  expect(line.beats.map(({ n, chunk, chunks, calls }) => [n, chunk, chunks, calls.length])).toEqual([
    [1, 0, 2, HEARTBEAT_CALLS_MAX],
    [1, 1, 2, 1],
  ]);
});

test('a beat whose calls and releases are long is cut so that the bus takes each part, and nothing is left out', async () => {
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
  for (let bucket = 0; bucket < 256; bucket += 1) tokens.note(bucket, bucketEpoch(bucket));
  const ids = Array.from({ length: 1_200 }, () => makeUuidV7(Date.now()));
  for (const id of ids) {
    const tag = bucketEpoch(0);
    const abort = (): void => undefined;
    running.add({ id, endpoint: '/v1/chat/completions', hold: { ...hold }, bucket: TEST_BUCKET, tag, abort });
    desk.release({ blind: false, id, hold: { ...hold }, tag, outcome: 'ok', amountNanoUsd: 1 }, null);
  }
  await beats.beat();
  const sizes = line.beats.map((beat) => Buffer.byteLength(JSON.stringify({ ...beat, v: edgeHeartbeat.version })));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(HEARTBEAT_BYTES_MAX);
  expect(line.beats.flatMap(({ calls }) => calls.map(({ id }) => id))).toEqual(ids);
  expect(line.beats.flatMap(({ releases }) => releases.map(({ id }) => id))).toEqual(ids);
  expect(line.beats.map(({ chunk, chunks }) => [chunk, chunks])).toEqual(
    line.beats.map((_beat, index) => [index, line.beats.length]),
  );
  for (const beat of line.beats) expect(edgeHeartbeat.body.safeParse(beat).success).toBe(true);
  // A verdict names a part: it changes the tags of that part's calls.
  beats.verdict(verdict({ n: 1, chunk: 1, tokens: [{ bucket: TEST_BUCKET, token: bucketEpoch(1_000) }] }));
  const changed = running.all().filter(({ tag }) => tag === bucketEpoch(1_000));
  expect(changed.map(({ id }) => id)).toEqual(line.beats[1]?.calls.map(({ id }) => id));
});

test('tags change only by the verdict for a beat that named the call', async () => {
  tokens.note(TEST_BUCKET, 't1');
  const early = heldCall();
  await beats.beat();
  const late = heldCall();
  beats.verdict(verdict({ n: 1, tokens: [{ bucket: TEST_BUCKET, token: 't2' }] }));
  expect([early.tag, late.tag]).toEqual(['t2', 't1']);
  await beats.beat();
  beats.verdict(verdict({ n: 2, tokens: [{ bucket: TEST_BUCKET, token: 't1' }] }));
  expect([early.tag, late.tag]).toEqual(['t2', 't1']);
  beats.verdict(verdict({ n: 2, tokens: [{ bucket: TEST_BUCKET, token: 't2' }] }));
  expect([early.tag, late.tag]).toEqual(['t2', 't2']);
});

test('a verdict aborts calls and answers releases', async () => {
  const call = heldCall();
  const id = makeUuidV7(0);
  desk.release({ blind: true, id, digests: ['0'.repeat(64)] }, null);
  await beats.beat();
  beats.verdict(verdict({ abort: [call.id, makeUuidV7(1)], released: [id] }));
  expect(aborted).toEqual([call.id]);
  expect(desk.unansweredReleases()).toEqual([]);
});

test('a report is answered at once by a beat that quotes the new token', async () => {
  beats.report([{ bucket: 7, token: 'new' }]);
  expect(line.beats).toMatchObject([{ tokens: [{ bucket: 7, token: 'new' }] }]);
});

test('the last beat says so', async () => {
  await beats.stop();
  expect(line.beats.at(-1)).toMatchObject({ last: true, calls: [] });
  const sent = line.beats.length;
  beats.report([]);
  expect(line.beats).toHaveLength(sent);
});
