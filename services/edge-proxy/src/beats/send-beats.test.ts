import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { BEAT_CALLS_MAX, edgeBeat } from '@gateway/contracts/messages';
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
  const [beat] = line.beats;
  expect(edgeBeat.body.parse(beat)).toEqual(beat);
  expect(beat?.calls).toEqual([{ id: call.id, hold: call.hold, tag: 't1', endpoint: call.endpoint }]);
  expect(beat?.releases).toHaveLength(1);
});

test('more than 500 calls go in chunks of one beat', async () => {
  for (let count = 0; count < BEAT_CALLS_MAX + 1; count += 1) heldCall();
  await beats.beat();
  expect(line.beats.map(({ n, chunk, chunks, calls }) => [n, chunk, chunks, calls.length])).toEqual([
    [1, 0, 2, BEAT_CALLS_MAX],
    [1, 1, 2, 1],
  ]);
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
