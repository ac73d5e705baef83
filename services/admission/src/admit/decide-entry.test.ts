import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { testEpoch } from '@gateway/testkit/random';
import { PRICE, admit, admitEntry, batch, makeAccount, makeWorld, mustAdmit, release } from '../../test/world.js';
import type { Replica, World } from '../../test/world.js';

let world: World;
let one: Replica;
let two: Replica;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
  two = await world.replica();
});
afterAll(() => world.stop());

// Covers r2
test('a repeated ID gets its stored answer from any replica and is held once', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const entry = admitEntry(one.clock, [account.digest]);
  const answers = await Promise.all([admit(one, entry), admit(two, entry), admit(one, entry), admit(two, entry)]);
  expect(answers.every((answer) => answer.kind === 'admitted')).toBe(true);
  expect(answers.filter((answer) => answer.kind === 'admitted' && answer.repeated)).toHaveLength(3);
  const holds = answers.map((answer) => (answer.kind === 'admitted' ? answer.hold : null));
  for (const hold of holds) expect(hold).toEqual(holds[0]);
  const dump = await one.admission.readAccount(account.account);
  expect(dump).toMatchObject({ slots: 1, held: { wallet: PRICE } });
});

// Covers r2
test('an ended ID is gone, regardless of how it ended', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const entry = admitEntry(one.clock, [account.digest]);
  const admitted = await mustAdmit(one, entry);
  await batch(two, { releases: [release(admitted, 'ok', PRICE)] });
  expect(await admit(one, entry)).toEqual({ kind: 'gone', id: entry.id });
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [], closed: [entry.id] }],
  });
  expect(await admit(two, entry)).toEqual({ kind: 'gone', id: entry.id });
});

// Covers r1
test.each([-31_000, 31_000])('an ID %i ms from Redis time gets a fault', async (skewMs) => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const entry = admitEntry(one.clock, [account.digest], { id: makeUuidV7(one.clock.now() + skewMs) });
  expect(await admit(one, entry)).toEqual({ kind: 'fault', id: entry.id, code: 'admission_error' });
});

test.each([-29_000, 29_000])('an ID %i ms from Redis time is decided', async (skewMs) => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const entry = admitEntry(one.clock, [account.digest], { id: makeUuidV7(one.clock.now() + skewMs) });
  expect(await admit(one, entry)).toMatchObject({ kind: 'admitted' });
});

test('a secret is accepted by its digest with the previous pepper', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  expect(await admit(one, admitEntry(one.clock, ['e'.repeat(64), account.digest]))).toMatchObject({ kind: 'admitted' });
});

test('a replica that cached a rotated digest refuses it with invalid_api_key', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const rotated = account.changeKey({ digest: 'b'.repeat(60) + '0001' });
  await two.admission.apply({ keys: [rotated] });
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'refused',
    code: 'invalid_api_key',
  });
  expect(await admit(two, admitEntry(two.clock, [account.digest]))).toMatchObject({
    kind: 'refused',
    code: 'invalid_api_key',
  });
});

test('a digest from its owner is accepted before its record is applied', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const { digest } = account.changeKey({ digest: 'b'.repeat(60) + '0002' });
  world.owners.digests.set(digest, { account: account.account, key: account.key });
  expect(await admit(one, admitEntry(one.clock, [digest]))).toMatchObject({ kind: 'admitted' });
});

test('a refusal has the code for the state of key or account at Redis time', async () => {
  const now = one.clock.now();
  const revoked = makeAccount(world, { wallet: PRICE, key: { state: 'revoked' } });
  const suspended = makeAccount(world, { wallet: PRICE, key: { state: 'suspended' } });
  const expired = makeAccount(world, { wallet: PRICE, key: { expiresAt: now - 1 } });
  const barred = makeAccount(world, { wallet: PRICE });
  barred.state.state = 'suspended';
  const stateOf = async (digest: string) => {
    const answer = await admit(one, admitEntry(one.clock, [digest]));
    return answer.kind === 'refused' ? answer.code : answer;
  };
  expect(await stateOf(revoked.digest)).toBe('key_inactive');
  expect(await stateOf(suspended.digest)).toBe('key_inactive');
  expect(await stateOf(expired.digest)).toBe('key_expired');
  expect(await stateOf(barred.digest)).toBe('account_suspended');
});

test('revoke, suspend, expiry and reinstatement apply to the next call', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  const stateOf = async () => {
    const answer = await admit(one, admitEntry(one.clock, [account.digest]));
    return answer.kind === 'refused' ? answer.code : answer.kind;
  };
  const applyAccount = (state: 'active' | 'suspended', version: number) =>
    two.admission.apply({ accounts: [{ account: account.account, state, version }] });
  expect(await stateOf()).toBe('admitted');
  await applyAccount('suspended', 3);
  expect(await stateOf()).toBe('account_suspended');
  await applyAccount('active', 2);
  expect(await stateOf()).toBe('account_suspended');
  await applyAccount('active', 4);
  expect(await stateOf()).toBe('admitted');
  await two.admission.apply({ keys: [account.changeKey({ expiresAt: one.clock.now() + 60_000 })] });
  expect(await stateOf()).toBe('admitted');
  world.advance(60_001);
  expect(await stateOf()).toBe('key_expired');
  await two.admission.apply({ keys: [account.changeKey({ expiresAt: null, state: 'revoked' })] });
  expect(await stateOf()).toBe('key_inactive');
});

test('a price applies from its first millisecond of Redis time', async () => {
  const { buildCatalogView } = await import('./catalog-view-rules.js');
  const { model, source, figures } = await import('../../test/world.js');
  const change = one.clock.now() + 3_600_000;
  const prices = [
    { version: 'before', effectiveFrom: 0, figures: figures({ perCall: PRICE }) },
    { version: 'after', effectiveFrom: change, figures: figures({ perCall: 2 * PRICE }) },
    { version: 'never', effectiveFrom: change + 3_600_000, figures: null },
  ];
  const usual = world.catalog;
  world.catalog = buildCatalogView([model('acme/dated', { prices })], [source('acme/dated', {})]);
  const account = makeAccount(world, { wallet: 100 * PRICE });
  const ask = () => admit(one, admitEntry(one.clock, [account.digest], { model: 'acme/dated' }));
  expect(await ask()).toMatchObject({ price: { version: 'before' }, hold: { worstNanoUsd: PRICE } });
  world.advance(3_600_000);
  expect(await ask()).toMatchObject({ price: { version: 'after' }, hold: { worstNanoUsd: 2 * PRICE } });
  world.advance(3_600_000);
  expect(await ask()).toMatchObject({ kind: 'refused', code: 'model_not_priced' });
  world.catalog = usual;
});

test('a call gets a fault without a catalog or while a store is almost full', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  const usual = world.catalog;
  world.catalog = null;
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'fault',
    code: 'catalog_error',
  });
  world.catalog = usual;
  world.backPressureReason = 'redis is almost full';
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'fault',
    code: 'admission_error',
  });
  world.backPressureReason = null;
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'admitted' });
});

test('an admission reports how many further calls fit; a repeated one does not', async () => {
  const account = makeAccount(world, { wallet: 9 * PRICE, terms: { concurrency: 3 } });
  const entries = Array.from({ length: 3 }, () => admitEntry(one.clock, [account.digest]));
  const admitted = [];
  for (const entry of entries) admitted.push(await mustAdmit(one, entry));
  expect(admitted.map(({ roomLeft }) => roomLeft)).toEqual([2, 1, 0]);
  expect(await mustAdmit(two, entries[2]!)).not.toHaveProperty('roomLeft');
  await batch(two, { releases: [release(admitted[0]!, 'ok', PRICE)] });
  expect(await mustAdmit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ roomLeft: 0 });
});

test.each([
  ['the wallet', { wallet: 3.9 * PRICE }],
  ['the cap of the key', { wallet: 100 * PRICE, key: { capNanoUsd: 3.5 * PRICE } }],
  ['the cap of the member', { wallet: 100 * PRICE, memberCap: 3 * PRICE }],
])('the rest of %s limits how many further calls fit', async (_name, seed) => {
  const account = makeAccount(world, seed);
  const rooms = [];
  for (let call = 0; call < 3; call += 1) {
    rooms.push((await mustAdmit(one, admitEntry(one.clock, [account.digest]))).roomLeft);
  }
  expect(rooms).toEqual([2, 1, 0]);
});

test('count_tokens takes no slot and no hold and is admitted without a free slot', async () => {
  const account = makeAccount(world, { wallet: PRICE, terms: { concurrency: 1 } });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const counted = await admit(one, admitEntry(one.clock, [account.digest], { endpoint: '/v1/messages/count_tokens' }));
  expect(counted).toMatchObject({ kind: 'admitted', hold: null, price: null, sources: ['src-acme-fixed'] });
  const unpriced = admitEntry(one.clock, [account.digest], {
    endpoint: '/v1/messages/count_tokens',
    model: 'acme/unpriced',
  });
  expect(await admit(one, unpriced)).toMatchObject({ kind: 'admitted', hold: null });
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 1, held: { wallet: PRICE } });
});
