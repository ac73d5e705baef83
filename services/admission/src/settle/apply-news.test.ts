import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NO_PLAN, PRICE, admit, admitEntry, makeAccount, makeWorld, mustAdmit } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
});
afterAll(() => world.stop());

const walletNews = (account: TestAccount, value: number, version: number, closed: string[] = []) => ({
  incarnation: 'ledger-1',
  accounts: [{ account: account.account, rows: [{ name: 'wallet', value, version }], closed }],
});

test('rows are applied by their own version, whatever the order of arrival', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await one.admission.standing(walletNews(account, 7 * PRICE, 5));
  await one.admission.standing(walletNews(account, 9 * PRICE, 3));
  await one.admission.standing(walletNews(account, 8 * PRICE, 5));
  expect((await one.admission.readAccount(account.account)).rows['wallet']).toEqual({ value: 7 * PRICE, version: 5 });
});

test('as many rows as a standing may have are applied, and of a row that is named twice the newer stands', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const rows = Array.from({ length: 1_998 }, (_unused, n) => ({ name: `km:key_${n}:2026-11`, value: n, version: 2 }));
  const wallet = (value: number, version: number) => ({ name: 'wallet', value, version });
  const twice = [wallet(3 * PRICE, 4), ...rows, wallet(4 * PRICE, 3)];
  const standing = { incarnation: 'ledger-1', accounts: [{ account: account.account, rows: twice, closed: [] }] };
  await one.admission.standing(standing);
  const dump = await one.admission.readAccount(account.account);
  expect(Object.keys(dump.rows)).toHaveLength(1_999);
  expect(dump.rows).toMatchObject({
    wallet: { value: 3 * PRICE, version: 4 },
    'km:key_1997:2026-11': { value: 1_997, version: 2 },
  });
});

test('an old standing still closes the ids that it names', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const admitted = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await one.admission.standing(walletNews(account, 5 * PRICE, 9));
  await one.admission.standing(walletNews(account, 9 * PRICE, 2, [admitted.id]));
  expect(await one.admission.readAccount(account.account)).toMatchObject({
    slots: 0,
    held: {},
    rows: { wallet: { value: 5 * PRICE, version: 9 } },
  });
});

test('a standing for an account that was never loaded is kept, and the account still has to be loaded', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await one.admission.standing(walletNews(account, 4 * PRICE, 4));
  const dump = await one.admission.readAccount(account.account);
  expect(dump).toMatchObject({ loadedUnder: null, rows: { wallet: { value: 4 * PRICE, version: 4 } } });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
});

test('new terms count for the next call, at a replica that knew the old ones too', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const two = await world.replica();
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await mustAdmit(two, admitEntry(two.clock, [account.digest]));
  const terms = (concurrency: number, version: number) => ({
    standing: {
      incarnation: 'ledger-1',
      accounts: [
        { account: account.account, rows: [], terms: { value: { ...NO_PLAN, concurrency }, version }, closed: [] },
      ],
    },
  });
  await one.admission.apply(terms(2, 5));
  await one.admission.apply(terms(50, 4));
  for (const replica of [one, two]) {
    expect(await admit(replica, admitEntry(replica.clock, [account.digest]))).toMatchObject({
      row: 18,
      facts: { limit: 2, used: 2 },
    });
  }
});

test('a member cap counts from the moment it is applied', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const member = { account: account.account, member: account.member, capNanoUsd: 2 * PRICE, version: 2 };
  await one.admission.apply({ members: [member] });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    row: 22,
    facts: { limit: 2 * PRICE, used: 0, held: 2 * PRICE, worst: PRICE },
  });
});

test('debt, and credit after it', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await one.admission.standing(walletNews(account, -3, 2));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    row: 15,
    facts: { available: -3 },
  });
  await one.admission.standing(walletNews(account, 0, 3));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ row: 16 });
  await one.admission.standing(walletNews(account, 1, 4));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    row: 21,
    facts: { available: 1 - PRICE, held: PRICE, worst: PRICE },
  });
});
