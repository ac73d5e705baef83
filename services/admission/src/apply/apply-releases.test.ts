import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { ReleaseEntry } from '@gateway/contracts/messages';
import { testEpoch } from '@gateway/testkit/random';
import { PRICE, admit, admitEntry, batch, makeAccount, makeWorld, mustAdmit, release } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
});
afterAll(() => world.stop());

const statesOf = async (account: TestAccount) =>
  (await one.admission.readAccount(account.account)).holds.map(({ hold }) => hold.state);

const blind = (id: string, account: TestAccount): ReleaseEntry => ({ blind: true, id, digests: [account.digest] });

// Covers r14
test('a done hold counts its amount, frees its slot and stays small', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const admitted = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(admitted, 'ok', 12_345)] });
  const dump = await one.admission.readAccount(account.account);
  expect(dump.slots).toBe(0);
  expect(dump.held).toMatchObject({ wallet: 12_345, [`km:${account.key}:${admitted.hold.periods.month}`]: 12_345 });
  expect(dump.bytesOf['done']).toBeLessThanOrEqual(100);
});

test('a repeated release and a release after the balance snapshot have no effect', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const admitted = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const ok = release(admitted, 'ok', 5);
  await batch(one, { releases: [ok] });
  expect((await batch(one, { releases: [ok, release(admitted, 'void')] })).released).toEqual([
    admitted.id,
    admitted.id,
  ]);
  expect((await one.admission.readAccount(account.account)).held['wallet']).toBe(5);
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [], closed: [admitted.id] }],
  });
  await batch(one, { releases: [ok] });
  expect((await one.admission.readAccount(account.account)).held).toEqual({});
  expect(await statesOf(account)).toEqual(['gone']);
});

test('a blind release before its admission prevents the admission', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const entry = admitEntry(one.clock, [account.digest]);
  expect((await batch(one, { releases: [blind(entry.id, account)] })).released).toEqual([entry.id]);
  expect(await admit(one, entry)).toEqual({ kind: 'gone', id: entry.id });
});

test('a blind release of a lost admission frees its slot and hold', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const admitted = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const other = await world.replica();
  expect((await batch(other, { releases: [blind(admitted.id, account)] })).released).toEqual([admitted.id]);
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: {} });
});

test('a blind release of unknown digests is repeated until its ID is too old', async () => {
  const ids = [one.clock.now(), one.clock.now() - 31_000].map(makeUuidV7);
  const releases = ids.map((id) => ({ blind: true as const, id, digests: ['d'.repeat(64)] }));
  expect((await batch(one, { releases })).released).toEqual([ids[1]]);
});

// Covers r6
test('a release of an unknown ID creates a done hold only with another epoch', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const admitted = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const known = release(admitted, 'ok', 7);
  if (known.blind) throw new Error('not blind');
  const lost = { ...known, id: makeUuidV7(one.clock.now()), callEpoch: 'another.epoch' };
  const closed = { ...known, id: makeUuidV7(one.clock.now()) };
  const { released } = await batch(one, { releases: [lost, closed] });
  expect(new Set(released)).toEqual(new Set([lost.id, closed.id]));
  const dump = await one.admission.readAccount(account.account);
  expect(dump.holds.find(({ id }) => id === lost.id)?.hold).toMatchObject({ state: 'done', amount: 7, slot: false });
  expect(dump.holds.some(({ id }) => id === closed.id)).toBe(false);
  expect(dump.held['wallet']).toBe(PRICE + 7);
});

// Covers r6
test('a void release of an unknown ID stores a tombstone only for a recent ID', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const old = makeUuidV7(one.clock.now() - 60_001);
  const young = makeUuidV7(one.clock.now() - 50_000);
  await batch(one, { releases: [blind(old, account), blind(young, account)] });
  const ids = (await one.admission.readAccount(account.account)).holds.map(({ id }) => id);
  expect(ids).toContain(young);
  expect(ids).not.toContain(old);
});
