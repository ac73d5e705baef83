import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  BATCH_ENTRIES_MAX,
  type AdmitEntry,
  type AdmittedAnswer,
  type BatchAnswer,
  type HoldFields,
} from '@gateway/contracts/messages';
import { ManualClock } from '@gateway/testkit/clocks';
import { TEST_ACCOUNT } from '../../test/fake-admission.js';
import { makeAdmission, FakeBusClient } from '../../test/fake-bus-client.js';
import { AdmissionClient, SILENCE_SWEEP_MS } from './admission-client.js';
import { EdgeClock } from './edge-clock.js';
import { EpochTracker } from './epoch-tracker.js';
import { KnownReplicas } from './known-replicas.js';
import { TickEnd } from './tick-batch.js';

let timers: ManualClock;
let busClient: FakeBusClient;
let clock: EdgeClock;
let mayAdmit: boolean;
let admissionClient: AdmissionClient;
let replicas: KnownReplicas;

const EPOCH = 'run.1.aa';

beforeEach(() => {
  timers = new ManualClock(0);
  mayAdmit = true;
  busClient = new FakeBusClient();
  clock = new EdgeClock(timers);
  replicas = new KnownReplicas();
  admissionClient = new AdmissionClient({
    edge: 'e0',
    bus: busClient,
    tickEnd: new TickEnd(),
    clock,
    epochs: new EpochTracker(() => 0),
    replicas,
    timers,
    mayAdmit: () => mayAdmit,
  });
});
afterEach(() => admissionClient.stop());

const entry = (id = makeUuidV7(Date.now())): AdmitEntry => ({
  id,
  digests: ['0'.repeat(64)],
  endpoint: '/v1/chat/completions',
  model: 'pub/model',
  bounds: null,
  bodyRefusal: null,
  opened: false,
});
const flush = (): Promise<void> => timers.advance(0);
const fault = { kind: 'fault', code: 'admission_error' };

test('requests of one tick of any kind are sent in one message', async () => {
  const [one, two] = [entry(), entry()];
  const open = admissionClient.open({ id: makeUuidV7(0), digests: one.digests });
  const admits = [admissionClient.admit(one, true), admissionClient.admit(two, true)];
  admissionClient.release({ blind: true, id: makeUuidV7(1), digests: one.digests }, null);
  expect(busClient.sent).toHaveLength(0);
  await flush();
  expect(busClient.sent).toHaveLength(1);
  const [sent] = busClient.sent;
  expect([sent?.batch.opens.length, sent?.batch.admits.length, sent?.batch.releases.length]).toEqual([1, 2, 1]);
  sent?.answer({ answers: [makeAdmission(EPOCH, two.id)] });
  expect(await admits[1]).toMatchObject({ kind: 'admitted', id: two.id });
  expect(sent?.isClosed).toBe(false);
  const openId = sent?.batch.opens[0]?.id ?? '';
  sent?.answer({
    answers: [
      { kind: 'refused', id: one.id, code: 'rate_limited', facts: { retryAfterSeconds: 3 } },
      { kind: 'opened', id: openId, account: 'acc', bucket: 3, epoch: EPOCH },
    ],
    released: [sent.batch.releases[0]?.id ?? ''],
  });
  expect(await admits[0]).toEqual({ kind: 'refused', code: 'rate_limited', facts: { retryAfterSeconds: 3 } });
  expect(await open).toMatchObject({ kind: 'opened' });
  expect(sent?.isClosed).toBe(true);
  expect(admissionClient.unansweredReleases()).toEqual([]);
});

test.each<[string, (id: string) => BatchAnswer]>([
  ['opened', (id) => ({ kind: 'opened', id, account: 'acc', bucket: 3, epoch: EPOCH })],
  ['refused', (id) => ({ kind: 'refused', id, code: 'rate_limited', facts: { retryAfterSeconds: 3 } })],
])('a late answer to another attempt of the open does not resolve an admission: %s', async (_name, late) => {
  const asked = { ...entry(), opened: true };
  const open = admissionClient.open({ id: asked.id, digests: asked.digests });
  await flush();
  await timers.advance(275);
  const [first, second] = busClient.sent;
  expect(busClient.sent).toHaveLength(2);
  second?.answer({ answers: [{ kind: 'opened', id: asked.id, account: 'acc', bucket: 3, epoch: EPOCH }] });
  expect(await open).toMatchObject({ kind: 'opened' });
  const admission = admissionClient.admit(asked, true);
  await flush();
  first?.answer({ answers: [late(asked.id)] });
  busClient.sent[2]?.answer({ answers: [makeAdmission(EPOCH, asked.id)] });
  expect(await admission).toMatchObject({ kind: 'admitted', id: asked.id });
  expect(admissionClient.unansweredReleases()).toEqual([]);
});

test('a burst is sent in messages of at most 256 entries of a kind', async () => {
  for (let count = 0; count < BATCH_ENTRIES_MAX * 2 + 1; count += 1) void admissionClient.admit(entry(), true);
  await flush();
  expect(busClient.sent.map(({ batch }) => batch.admits.length)).toEqual([256, 256, 1]);
});

test('after 250 ms of silence another replica receives the request, with the same ID', async () => {
  const [warm, asked] = [entry(), entry()];
  void admissionClient.admit(warm, true);
  await flush();
  busClient.sent[0]?.answer({ replica: 'hung', answers: [] });
  await timers.advance(25);
  busClient.sent[0]?.answer({ replica: 'alive', answers: [makeAdmission(EPOCH, warm.id)] });
  const outcome = admissionClient.admit(asked, true);
  await flush();
  await timers.advance(200);
  expect(busClient.sent).toHaveLength(2);
  await timers.advance(75);
  expect(busClient.sent).toHaveLength(3);
  expect(busClient.sent[2]).toMatchObject({ replica: 'alive', batch: { admits: [{ id: asked.id }] } });
  busClient.sent[2]?.answer({ answers: [makeAdmission(EPOCH, asked.id)] });
  expect(await outcome).toMatchObject({ kind: 'admitted' });
  // The answer to the first message arrives too. The call is running, so nothing is released.
  busClient.sent[1]?.answer({ answers: [makeAdmission(EPOCH, asked.id)] });
  await flush();
  expect(admissionClient.unansweredReleases()).toEqual([]);
});

test('a second silence leads to a replica that was not tried yet', async () => {
  const [warm, asked] = [entry(), entry()];
  void admissionClient.admit(warm, true);
  await flush();
  for (const replica of ['a', 'b', 'hung']) {
    busClient.sent[0]?.answer({ replica });
    await timers.advance(25);
  }
  busClient.sent[0]?.answer({ replica: 'hung', answers: [makeAdmission(EPOCH, warm.id)] });
  void admissionClient.admit(asked, true);
  await flush();
  await timers.advance(1_000);
  expect(busClient.sent.slice(1).map(({ replica }) => replica)).toEqual([undefined, 'hung', 'b', 'a']);
});

// Covers r3
test('after 2 s the call is a fault, and a blind release repeats until it is answered', async () => {
  const asked = entry();
  const outcome = admissionClient.admit(asked, true);
  await flush();
  await timers.advance(2_025);
  expect(await outcome).toEqual(fault);
  expect(busClient.sent.filter(({ batch }) => batch.admits.length > 0)).toHaveLength(4);
  expect(admissionClient.unansweredReleases()).toEqual([{ blind: true, id: asked.id, digests: asked.digests }]);
  busClient.sent[0]?.answer({ answers: [makeAdmission(EPOCH, asked.id)] });
  await flush();
  expect(busClient.sent.at(-1)?.batch.releases).toMatchObject([{ id: asked.id, blind: true }]);
  admissionClient.releasesAnswered([asked.id]);
  expect(admissionClient.unansweredReleases()).toEqual([]);
});

test.each([
  ['refused', { kind: 'refused' as const, code: 'insufficient_credits' as const, facts: {} }],
  ['a fault', { kind: 'fault' as const, code: 'admission_error' as const }],
])('%s after a retry is released blind: the other attempt may still be admitted', async (_name, answer) => {
  const [once, twice] = [entry(), entry()];
  const refused = admissionClient.admit(once, true);
  await flush();
  busClient.sent[0]?.answer({ answers: [{ ...answer, id: once.id }] });
  expect(await refused).toEqual(answer);
  expect(admissionClient.unansweredReleases()).toEqual([]);

  const outcome = admissionClient.admit(twice, true);
  await flush();
  await timers.advance(275);
  expect(busClient.sent).toHaveLength(3);
  busClient.sent[2]?.answer({ answers: [{ ...answer, id: twice.id }] });
  expect(await outcome).toEqual(answer);
  await flush();
  const release = { blind: true, id: twice.id, digests: twice.digests };
  expect(busClient.sent.at(-1)?.batch.releases).toEqual([release]);
  expect(admissionClient.unansweredReleases()).toEqual([release]);
});

test('an endpoint without holds leaves nothing to release', async () => {
  const outcome = admissionClient.admit(entry(), false);
  await flush();
  await timers.advance(2_025);
  expect(await outcome).toEqual(fault);
  expect(admissionClient.unansweredReleases()).toEqual([]);
});

test('a replica that has left is dropped, and any replica receives the request', async () => {
  for (const replica of ['slow', 'left']) replicas.record(replica, 0);
  replicas.record('left', 1);
  const asked = entry();
  const outcome = admissionClient.admit(asked, true);
  await flush();
  await timers.advance(275);
  expect(busClient.sent.map(({ replica }) => replica)).toEqual([undefined, 'left']);
  busClient.sent[1]?.fault('no_responders');
  expect(busClient.sent).toHaveLength(3);
  expect(busClient.sent[2]).toMatchObject({ replica: undefined, batch: { admits: [{ id: asked.id }], releases: [] } });
  busClient.sent[2]?.answer({ replica: 'slow', answers: [makeAdmission(EPOCH, asked.id)] });
  expect(await outcome).toMatchObject({ kind: 'admitted', id: asked.id });
  expect(admissionClient.unansweredReleases()).toEqual([]);
  void admissionClient.admit(entry(), true);
  await flush();
  await timers.advance(275);
  expect(busClient.sent.slice(3).map(({ replica }) => replica)).toEqual([undefined, undefined]);
});

test('replicas that have left do not count as attempts', async () => {
  for (const replica of ['a', 'b', 'c']) replicas.record(replica, 0);
  void admissionClient.admit(entry(), true);
  await flush();
  for (let passed = 0; passed < 1_000; passed += SILENCE_SWEEP_MS) {
    await timers.advance(SILENCE_SWEEP_MS);
    for (const sent of busClient.sent) if (sent.replica !== undefined) sent.fault('no_responders');
  }
  const shared = busClient.sent.filter(({ replica }) => replica === undefined);
  expect(shared).toHaveLength(4);
});

test('a replica that announced its stop gets no more requests by name', () => {
  for (const replica of ['a', 'b', 'leaving']) replicas.record(replica, 0);
  replicas.left('leaving', 1);
  replicas.record('leaving', 2);
  expect(replicas.other([], 3)).not.toBe('leaving');
  expect(replicas.other(['a', 'b'], 3)).toBeUndefined();
  // The replica starts again under the same name.
  replicas.record('leaving', 20_000);
  expect(replicas.other(['a', 'b'], 20_000)).toBe('leaving');
});

test('a request without any replica is repeated until one answers', async () => {
  const asked = entry();
  const outcome = admissionClient.admit(asked, true);
  await flush();
  busClient.sent[0]?.fault('no_responders');
  for (let count = 1; count < 6; count += 1) {
    await timers.advance(250);
    expect(busClient.sent).toHaveLength(count + 1);
    busClient.sent[count]?.fault('no_responders');
  }
  await timers.advance(250);
  busClient.sent[6]?.answer({ answers: [makeAdmission(EPOCH, asked.id)] });
  expect(await outcome).toMatchObject({ kind: 'admitted' });
});

test('a request without any replica ends in a fault and leaves nothing to release', async () => {
  const outcome = admissionClient.admit(entry(), true);
  await flush();
  for (let passed = 0; passed < 2_000; passed += SILENCE_SWEEP_MS) {
    for (const sent of busClient.sent.splice(0)) sent.fault('no_responders');
    await timers.advance(SILENCE_SWEEP_MS);
  }
  expect(await outcome).toEqual(fault);
  expect(admissionClient.unansweredReleases()).toEqual([]);
});

test('a fault after the decision began is released blind, also after one attempt', async () => {
  const asked = entry();
  const outcome = admissionClient.admit(asked, true);
  await flush();
  busClient.sent[0]?.answer({ answers: [{ kind: 'fault', id: asked.id, code: 'admission_error', mayHold: true }] });
  expect(await outcome).toEqual(fault);
  expect(admissionClient.unansweredReleases()).toEqual([{ blind: true, id: asked.id, digests: asked.digests }]);
});

test('a lost connection is a fault immediately', async () => {
  const outcome = admissionClient.admit(entry(), true);
  await flush();
  busClient.sent[0]?.fault('disconnected');
  expect(await outcome).toEqual(fault);
});

// Covers r3
test('an answer under a superseded epoch is void, and the same ID is sent again', async () => {
  const [before, after, asked] = [entry(), entry(), entry()];
  void admissionClient.admit(before, true);
  void admissionClient.admit(after, true);
  await flush();
  busClient.sent[0]?.answer({ answers: [makeAdmission(EPOCH, before.id)] });
  busClient.sent[0]?.answer({ answers: [makeAdmission('run.2.bb', after.id)] });
  const outcome = admissionClient.admit(asked, true);
  await flush();
  busClient.sent[1]?.answer({ answers: [makeAdmission(EPOCH, asked.id)] });
  await flush();
  expect(busClient.sent[2]?.batch.admits).toMatchObject([{ id: asked.id }]);
  busClient.sent[2]?.answer({ answers: [makeAdmission('run.2.bb', asked.id)] });
  expect(await outcome).toMatchObject({ kind: 'admitted', epoch: 'run.2.bb' });
});

// Covers r3
test('an answer older than 5 s is ignored, and its hold is released', async () => {
  const asked = entry();
  const outcome = admissionClient.admit(asked, true);
  await flush();
  // The event loop was blocked, so the sweep has not run when the answer arrives.
  timers.block(5_001);
  busClient.sent[0]?.answer({ answers: [makeAdmission(EPOCH, asked.id)] });
  expect(await outcome).toEqual(fault);
  expect(admissionClient.unansweredReleases()).toMatchObject([
    { blind: false, id: asked.id, outcome: 'void', callEpoch: EPOCH },
  ]);
});

test.each(['gone', 'fault'] as const)('the answer %s is a fault', async (kind) => {
  const asked = entry();
  const outcome = admissionClient.admit(asked, true);
  await flush();
  busClient.sent[0]?.answer({
    answers: [kind === 'gone' ? { kind, id: asked.id } : { kind, id: asked.id, code: 'lookup_failed' }],
  });
  expect(await outcome).toEqual({ kind: 'fault', code: kind === 'gone' ? 'admission_error' : 'lookup_failed' });
});

test('nothing is sent while the edge may not admit', async () => {
  mayAdmit = false;
  expect(await admissionClient.admit(entry(), true)).toEqual(fault);
  await flush();
  expect(busClient.sent).toHaveLength(0);
});

test('mayMeetOwnHold() is false while there is room, from admission to release', async () => {
  const asked = entry();
  const outcome = admissionClient.admit(asked, true);
  await flush();
  const answer = makeAdmission(EPOCH, asked.id) as AdmittedAnswer & { hold: HoldFields };
  busClient.sent[0]?.answer({ answers: [{ ...answer, roomLeft: 1 }] });
  await outcome;
  expect(admissionClient.mayMeetOwnHold(TEST_ACCOUNT, 1)).toBe(false);
  expect(admissionClient.mayMeetOwnHold(TEST_ACCOUNT, 0)).toBe(true);
  void admissionClient.admit(entry(), true);
  expect(admissionClient.mayMeetOwnHold(TEST_ACCOUNT, 1)).toBe(true);
  const { id, hold, epoch: callEpoch } = answer;
  admissionClient.release({ blind: false, id, hold, callEpoch, outcome: 'ok', amountNanoUsd: 0 }, null);
  expect(admissionClient.accountsHeld).toBe(1);
  admissionClient.releasesAnswered([id]);
  expect(admissionClient.accountsHeld).toBe(0);
});

test('a release is kept until it is answered, and its callback runs once', async () => {
  let told = 0;
  const id = makeUuidV7(0);
  admissionClient.release({ blind: true, id, digests: ['0'.repeat(64)] }, () => (told += 1));
  await flush();
  expect(admissionClient.unansweredReleases()).toHaveLength(1);
  busClient.sent[0]?.answer({ released: [id] });
  busClient.sent[0]?.answer({ released: [id] });
  expect([told, admissionClient.unansweredReleases().length]).toEqual([1, 0]);
});

test('a release that may wait goes with the next message, or after 25 ms', async () => {
  const release = () => ({ blind: true as const, id: makeUuidV7(1), digests: ['0'.repeat(64)] });
  admissionClient.release(release(), null, true);
  await flush();
  expect(busClient.sent).toHaveLength(0);
  void admissionClient.admit(entry(), true);
  await flush();
  expect(busClient.sent.map(({ batch }) => [batch.admits.length, batch.releases.length])).toEqual([[1, 1]]);
  admissionClient.release(release(), null, true);
  await timers.advance(SILENCE_SWEEP_MS + 1);
  expect(busClient.sent[1]?.batch.releases).toHaveLength(1);
});

test("the clock follows the limit store's clock", async () => {
  void admissionClient.admit(entry(), true);
  await flush();
  busClient.sent[0]?.answer({ now: 7_000 });
  expect(clock.nowMs()).toBe(7_000);
});
