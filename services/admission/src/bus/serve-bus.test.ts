import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { BusFault } from '@gateway/bus';
import { makeUuidV7, shardOfAccount } from '@gateway/contracts/ids';
import {
  admissionApply,
  admissionAuthorize,
  admissionBatch,
  admissionHeld,
  admissionReleaseSlot,
  admissionSlots,
  admissionUsage,
  billingBalanceSnapshots,
  callsRefused,
  catalogRevisionUsed,
  edgeHeartbeat,
  edgeResyncRequest,
  edgeHeartbeatReply,
  edgeShortHeartbeat,
  keysUsed,
} from '@gateway/contracts/messages';
import type { AnswerOf, BatchAnswer, BodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { AMOUNT_NANO_USD_MAX } from '@gateway/metering';
import { silentLog, until } from '@gateway/testkit';
import { testEpoch } from '@gateway/testkit/random';
import { createBusEdges } from './bus-edges.js';
import { findLastHeartbeats, findNewestPositions } from '../heartbeats/last-heartbeats-rules.js';
import { AdmissionFault } from '../ports.js';
import type { StartedAdmission } from '../service.js';
import { toDependencyFault } from './serve-bus.js';
import { makeBusWorld } from '../../test/bus-world.js';
import type { BusWorld } from '../../test/bus-world.js';
import { AUTHOR, PRICE, admitEntry, makeAccount, makeOwners, ownersOf } from '../../test/world.js';
import type { Admitted, OwnerState } from '../../test/world.js';

const owners: OwnerState = makeOwners();
let world: BusWorld;
let one: StartedAdmission;
let two: StartedAdmission;

beforeAll(async () => {
  world = await makeBusWorld(ownersOf(owners));
  const starting = await world.start('one');
  await until('the buckets are open', () => starting.ready.report().checks['buckets'] === 'ok');
  // Without a catalog the replica is not ready and calls get a fault.
  expect(starting.ready.report().checks['catalog']).toMatch('no catalog');
  const account = makeAccount({ owners }, { wallet: PRICE });
  const [answer] = await ask({ admits: [admitEntry(starting.clock, [account.digest])] }, null);
  expect(answer).toMatchObject({ kind: 'fault', code: 'catalog_error' });
  await world.publishCatalog(1);
  const second = await world.start('two', { leaseMs: 1_000, expiryMs: 1_500 });
  await until('both replicas are ready', () => starting.ready.report().ready && second.ready.report().ready);
  one = starting;
  two = second;
});
afterAll(() => world.stop());

type BatchBody = BodyOf<typeof admissionBatch>;

/**
 * Sends a batch and waits until each of its entries and releases was answered.
 * @param replica the replica that answers; null: any. Calls expire soon at all replicas except
 * `one`
 */
async function replies(
  body: Partial<BatchBody>,
  replica: string | null = 'one',
): Promise<AnswerOf<typeof admissionBatch>[]> {
  const batch: BatchBody = { edge: 'edge1', opens: [], admits: [], releases: [], ...body };
  const due = batch.opens.length + batch.admits.length + batch.releases.length;
  const got: AnswerOf<typeof admissionBatch>[] = [];
  await new Promise<void>((resolve, reject) => {
    let answered = 0;
    const asking = world.buses['edge-proxy'].requestMany(
      admissionBatch,
      batch,
      {
        answer(answer) {
          got.push(answer);
          answered += answer.answers.length + answer.released.length;
          if (answered < due) return;
          asking.close();
          resolve();
        },
        fault: reject,
      },
      replica === null ? { timeoutMs: 5_000 } : { replica, timeoutMs: 5_000 },
    );
  });
  return got;
}

async function ask(body: Partial<BatchBody>, replica?: string | null): Promise<BatchAnswer[]> {
  return (await replies(body, replica)).flatMap(({ answers }) => answers);
}

test('a call is looked up, loaded, admitted and released over the bus', async () => {
  const account = makeAccount({ owners }, { wallet: 2 * PRICE });
  const [first] = await ask({ admits: [admitEntry(one.clock, [account.digest])] });
  expect(first).toMatchObject({ kind: 'admitted', hold: { worstNanoUsd: PRICE }, price: { version: 'p1' } });
  const { id, hold, epoch } = first as Admitted;
  const [reply] = await replies({
    releases: [{ blind: false, id, hold, callEpoch: epoch, outcome: 'ok', amountNanoUsd: 5 }],
  });
  expect(reply).toMatchObject({ released: [id], answers: [] });
  expect(Math.abs((reply?.now ?? 0) - Date.now())).toBeLessThan(5_000);
});

test('a retry reaches the named replica, which answers cached calls in one reply', async () => {
  const account = makeAccount({ owners }, { wallet: 1_000 * PRICE });
  const entries = () => Array.from({ length: 20 }, () => admitEntry(two.clock, [account.digest]));
  await ask({ admits: entries() }, 'two');
  const warm = await replies({ admits: entries() }, 'two');
  expect(warm).toHaveLength(1);
  expect(warm[0]).toMatchObject({ replica: 'two' });
  expect(warm[0]?.answers.map(({ kind }) => kind)).toEqual(Array<string>(20).fill('admitted'));
});

test('long answers to one account do not delay those to others', async () => {
  const allowedModels = Array.from({ length: 500 }, (_, at) => `p${'x'.repeat(63)}/${'m'.repeat(124)}${at + 1_000}`);
  const long = makeAccount({ owners }, { wallet: PRICE, key: { allowedModels } });
  const other = makeAccount({ owners }, { wallet: 100 * PRICE });
  const entriesOf = ({ digest }: { digest: string }, count: number) =>
    Array.from({ length: count }, () => admitEntry(one.clock, [digest]));
  await ask({ admits: [...entriesOf(long, 1), ...entriesOf(other, 1)] }, 'one');
  const answers = await ask({ admits: [...entriesOf(long, 16), ...entriesOf(other, 2)] }, 'one');
  const refused = { kind: 'refused', code: 'model_not_allowed_on_key', facts: { allowedModels } };
  expect(answers.filter(({ kind }) => kind === 'refused')).toEqual(
    Array(16).fill(expect.objectContaining({ ...refused, facts: expect.objectContaining(refused.facts) as unknown })),
  );
  expect(answers.filter(({ kind }) => kind === 'admitted')).toHaveLength(2);
});

test('an entry that waits for its owner delays no other and gets a fault in time', async () => {
  const ready = makeAccount({ owners }, { wallet: 1_000 * PRICE });
  await ask({ admits: [admitEntry(one.clock, [ready.digest])] }, 'one');
  const slow = makeAccount({ owners }, { wallet: PRICE });
  owners.billingDown = true;
  const entries = [admitEntry(one.clock, [slow.digest]), admitEntry(one.clock, [ready.digest])];
  const got = await replies({ admits: entries }, 'one');
  owners.billingDown = false;
  expect(got[0]?.answers).toMatchObject([{ id: entries[1]!.id, kind: 'admitted' }]);
  expect(got[1]?.answers).toMatchObject([{ id: entries[0]!.id, kind: 'fault', code: 'admission_error' }]);
});

test('a giant call affects other calls only through a cap that is set later', async () => {
  const now = one.clock.now();
  const subscription = { id: 'sub-giant', start: now - 1_000, end: now + 86_400_000 };
  const terms = { plan: { id: 'flat', name: 'Flat', tier: 'flat' }, models: null, subscription };
  const account = makeAccount({ owners }, { wallet: null, terms });
  const call = (outputTokensMax: number) => {
    const bounds = { promptBytes: 30, arrayElements: 0, attachments: 0, outputTokensMax };
    return admitEntry(one.clock, [account.digest], { model: 'acme/tokens', bounds });
  };
  const giants = await ask({ admits: [call(Number.MAX_SAFE_INTEGER), call(Number.MAX_SAFE_INTEGER)] });
  expect(giants.map(({ kind }) => kind)).toEqual(['admitted', 'admitted']);
  expect(await ask({ admits: [call(10)] })).toMatchObject([{ kind: 'admitted' }]);
  const keys = [account.changeKey({ capNanoUsd: 1_000_000_000 })];
  await world.buses.accounts.request(admissionApply, { keys });
  const held = Number(AMOUNT_NANO_USD_MAX);
  expect(await ask({ admits: [call(10)] })).toMatchObject([
    { kind: 'refused', code: 'monthly_spend_cap_exceeded', facts: { held, worst: 90 } },
  ]);
});

test('rejects a malformed batch', async () => {
  const asking = world.buses['edge-proxy'].request(admissionAuthorize, { id: 'no id', digests: [] } as never);
  await expect(asking).rejects.toThrow(BusFault);
});

test('a change takes effect before its response', async () => {
  const account = makeAccount({ owners }, { wallet: 10 * PRICE });
  await ask({ admits: [admitEntry(one.clock, [account.digest])] });
  const answer = await world.buses.accounts.request(admissionApply, {
    keys: [account.changeKey({ state: 'revoked' })],
  });
  expect(answer).toEqual({ applied: true });
  const [refused] = await ask({ admits: [admitEntry(one.clock, [account.digest])] });
  expect(refused).toMatchObject({ kind: 'refused', code: 'key_inactive', facts: {} });
});

test('a published balance snapshot ends the holds of its closed IDs', async () => {
  const account = makeAccount({ owners }, { wallet: 10 * PRICE });
  const [admitted] = await ask({ admits: [admitEntry(one.clock, [account.digest])] });
  const rows = [{ name: 'wallet', value: 7, version: 2 }];
  const snapshot = { account: account.account, rows, closed: [admitted!.id] };
  world.buses.billing.publish(billingBalanceSnapshots, {}, { ledgerEpoch: testEpoch(1), accounts: [snapshot] });
  await until('the slot is free', async () => (await one.admission.readAccount(account.account)).slots === 0);
  expect(await one.admission.readAccount(account.account)).toMatchObject({ held: {}, rows: { wallet: { value: 7 } } });
});

test('a heartbeat gets a heartbeat reply for its edge', async () => {
  const account = makeAccount({ owners }, { wallet: 10 * PRICE });
  const [answer] = await ask({ admits: [admitEntry(one.clock, [account.digest])] });
  const { id, hold, epoch, bucket } = answer as Admitted;
  const heartbeatReplies: object[] = [];
  const edge = world.buses['edge-proxy'];
  edge.subscribe(edgeHeartbeatReply, (heartbeatReply) => void heartbeatReplies.push(heartbeatReply), {
    words: { edge: 'edge7' },
  });
  const call = { id, hold, callEpoch: epoch, endpoint: '/v1/messages' as const };
  const heartbeat = { edge: 'edge7', n: 3, chunk: 0, chunks: 1, epochs: [], calls: [call], releases: [], last: false };
  await until('a heartbeat reply arrives', async () => {
    await edge.store(edgeHeartbeat, { edge: 'edge7', chunk: 0 }, heartbeat);
    return heartbeatReplies.length > 0;
  });
  expect(heartbeatReplies[0]).toMatchObject({ n: 3, chunk: 0, epochs: [{ bucket, epoch }], abort: [], released: [] });
  const names = [{ callEpoch: epoch, accounts: [{ account: account.account, ids: [id] }] }];
  const short = { ...heartbeat, n: 4, calls: [], names };
  await edge.store(edgeShortHeartbeat, { edge: 'edge7', place: '0' }, short);
  // Two replicas share the heartbeats, so a copy of the full one may be answered after the short
  // one.
  const shortReply = () => heartbeatReplies.find((reply) => 'n' in reply && reply.n === 4);
  await until('the short one is answered', () => shortReply() !== undefined);
  expect(shortReply()).toMatchObject({ n: 4, epochs: [{ bucket, epoch }], abort: [] });
  // A recovery reads from the stream the full data of the calls that the newest heartbeat names.
  const edges = createBusEdges(await world.connect('admission'), silentLog);
  const kept = await edges.lastHeartbeats('edge7');
  expect(findLastHeartbeats(kept)).toMatchObject([{ edge: 'edge7', complete: true, calls: [{ id, full: { hold } }] }]);
  expect(findNewestPositions(await edges.heartbeatMarks()).get('edge7')?.sequence).toBe(kept[0]?.sequence);
  await edges.forget('edge7', kept[0]?.sequence ?? 0);
  expect(await edges.lastHeartbeats('edge7')).toEqual([]);
});

test('a call of a vanished edge is stored in the stream as expired', async () => {
  const account = makeAccount({ owners }, { wallet: 10 * PRICE });
  const [admitted] = await ask({ admits: [admitEntry(two.clock, [account.digest])] }, 'two');
  await until('the call expires', () => world.events.some(({ id }) => id === admitted!.id), 20_000);
  const event = world.events.find(({ id }) => id === admitted!.id);
  expect(event).toMatchObject({ rank: 1, outcome: 'expired', hold: { account: account.account } });
  expect(shardOfAccount(account.account)).toBeGreaterThanOrEqual(0);
});

test('the model list and the usage endpoint are answered', async () => {
  const account = makeAccount({ owners }, { wallet: 10 * PRICE, key: { allowedModels: ['acme/fixed'] } });
  const edge = world.buses['edge-proxy'];
  const question = { id: makeUuidV7(one.clock.now()), digests: [account.digest] };
  expect(await edge.request(admissionAuthorize, question)).toMatchObject({
    kind: 'authorized',
    allowedModels: ['acme/fixed'],
    walletAboveZero: true,
  });
  expect(await edge.request(admissionUsage, question)).toMatchObject({ kind: 'usage', walletNanoUsd: 10 * PRICE });
});

test('operators list running calls with their holds and take a slot back', async () => {
  const account = makeAccount({ owners }, { wallet: 10 * PRICE });
  const [answer] = await ask({ admits: [admitEntry(one.clock, [account.digest])] });
  const { id } = answer as Admitted;
  const { dashboard } = world.buses;
  const mine = { account: account.account };
  expect(await dashboard.request(admissionSlots, { ...mine, cursor: null, limit: 10 })).toMatchObject({
    slots: [{ requestId: id, takesSlot: true }],
    nextCursor: null,
  });
  expect(await dashboard.request(admissionHeld, mine)).toEqual({ walletNanoUsd: PRICE, slots: 1 });
  const taken = { requestId: id, author: AUTHOR };
  expect(await dashboard.request(admissionReleaseSlot, taken)).toEqual({ released: true, ...mine });
  expect(await dashboard.request(admissionHeld, mine)).toEqual({ walletNanoUsd: PRICE, slots: 0 });
  expect(await dashboard.request(admissionReleaseSlot, { ...taken, requestId: makeUuidV7(0) })).toMatchObject({
    refused: { code: 'not_found' },
  });
});

test('each process reports its catalog revision to catalog repeatedly and its stop', async () => {
  const told: { replica: string; revision: number; last: boolean }[] = [];
  world.buses.catalog.subscribe(catalogRevisionUsed, (said) => void told.push(said));
  const names = () => new Set(told.map(({ replica }) => replica));
  await until('both are heard again', () => names().size === 2);
  const third = await world.start('one');
  await until('the third is heard', () => names().size === 3);
  // It has the same name as another process, but is distinguished from it.
  expect([...names()].filter((name) => name.startsWith('admission.one.'))).toHaveLength(2);
  told.length = 0;
  await world.publishCatalog(2);
  await until('all decide by it', () => told.filter(({ revision }) => revision === 2).length >= 3, 1_500);
  await third.stop();
  await until('it says that it stops', () => told.some(({ last }) => last));
  const { replica } = told.find(({ last }) => last)!;
  told.length = 0;
  await until('the others are heard', () => names().size === 2);
  expect(names()).not.toContain(replica);
});

test('a stopping replica reports used keys and refused calls', async () => {
  const account = makeAccount({ owners }, { wallet: 10 * PRICE });
  const unused = makeAccount({ owners }, { wallet: null });
  const told = new Map<string, number>();
  world.buses.accounts.subscribe(keysUsed, ({ uses }) => uses.forEach(({ key, at }) => told.set(key, at)));
  const refused: ReceivedOf<typeof callsRefused>[] = [];
  world.buses.billing.subscribe(callsRefused, (body) => void (body.from === 'three' && refused.push(body)));
  const third = await world.start('three');
  await until('it is ready', () => third.ready.report().ready);
  const [admitted] = await ask({ admits: [admitEntry(third.clock, [account.digest])] }, 'three');
  const entry = admitEntry(third.clock, [unused.digest]);
  expect(await ask({ admits: [entry] }, 'three')).toMatchObject([{ code: 'no_funding' }]);
  await third.stop();
  await until('both are told', () => told.has(account.key) && refused.length > 0);
  expect(told.get(account.key)).toBe((admitted as Admitted).hold.admittedAt);
  expect(told.has(unused.key)).toBe(false);
  const row = { account: unused.account, key: unused.key, code: 'no_funding', count: 1, lastIds: [entry.id] };
  expect(refused).toMatchObject([{ rows: [row] }]);
});

test('a stopping replica notifies the edges', async () => {
  const left: string[] = [];
  world.buses['edge-proxy'].subscribe(
    edgeResyncRequest,
    (report) => void (report.stopping && left.push(report.stopping)),
  );
  const fourth = await world.start('four');
  expect(left).toEqual([]);
  await fourth.stop();
  await until('it is heard', () => left.length > 0);
  expect(left).toEqual(['four']);
});

test('requests of operators get dependency_unavailable while restoring', async () => {
  const restoring = new AdmissionFault('admission_error', 'the bucket 7 is restoring');
  await expect(toDependencyFault(Promise.reject(restoring))).rejects.toMatchObject({ code: 'dependency_unavailable' });
  const mistake = new Error('a mistake');
  await expect(toDependencyFault(Promise.reject(mistake))).rejects.toBe(mistake);
});
