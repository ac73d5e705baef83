import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ReleaseEntry } from '@gateway/contracts/messages';
import { testEpoch } from '@gateway/testkit/random';
import { PRICE, admitEntry, batch, makeAccount, makeWorld, release, toMinute } from '../../test/world.js';
import type { Admitted, Replica, World } from '../../test/world.js';

let world: World;
let replicas: Replica[];

beforeAll(async () => {
  world = await makeWorld();
  replicas = [await world.replica(), await world.replica(), await world.replica()];
});
afterAll(() => world.stop());

/**
 * Sends that many calls of one key concurrently, spread over the replicas in batches of mixed size.
 */
async function admitMany(digest: string, calls: number): Promise<{ admitted: Admitted[]; codes: string[] }> {
  const work: Promise<Awaited<ReturnType<typeof batch>>>[] = [];
  for (let sent = 0; sent < calls;) {
    const size = Math.min(calls - sent, 1 + (sent % 23));
    const replica = replicas[work.length % replicas.length]!;
    work.push(batch(replica, { admits: Array.from({ length: size }, () => admitEntry(replica.clock, [digest])) }));
    sent += size;
  }
  const answers = (await Promise.all(work)).flatMap((result) => [...result.answers.values()]);
  expect(answers).toHaveLength(calls);
  return {
    admitted: answers.filter((answer) => answer.kind === 'admitted') as Admitted[],
    codes: answers.flatMap((answer) =>
      answer.kind === 'refused' ? [answer.code] : answer.kind === 'admitted' ? [] : [answer.kind],
    ),
  };
}

// Covers i6
test('three replicas admit as many of 1,000 concurrent calls as the wallet covers', async () => {
  const account = makeAccount(world, { wallet: 137 * PRICE + PRICE / 2 });
  const { admitted, codes } = await admitMany(account.digest, 1_000);
  expect(admitted).toHaveLength(137);
  expect(new Set(codes)).toEqual(new Set(['insufficient_credits']));
  const running = await replicas[0]!.admission.readAccount(account.account);
  expect(running.slots).toBe(137);
  expect(running.held['wallet']).toBe(137 * PRICE);
  // Each of the three replicas loaded the account at most once, despite a thousand calls.
  expect(
    world.owners.asked.loadBalances.filter(({ account: asked }) => asked === account.account).length,
  ).toBeLessThanOrEqual(3);
});

test.each([
  { wallet: 3 * PRICE - 1, calls: 2 },
  { wallet: 3 * PRICE, calls: 3 },
])('a wallet of $wallet nano-USD covers $calls calls, to the nano-USD', async ({ wallet, calls }) => {
  const account = makeAccount(world, { wallet });
  const { admitted, codes } = await admitMany(account.digest, 5);
  expect(admitted).toHaveLength(calls);
  expect(new Set(codes)).toEqual(new Set(['insufficient_credits']));
});

test.each([
  { cap: 2 * PRICE - 1, calls: 1 },
  { cap: 2 * PRICE, calls: 2 },
])('a cap of $cap nano-USD covers $calls calls, of a key and of a member', async ({ cap, calls }) => {
  const ofKey = makeAccount(world, { wallet: 100 * PRICE, key: { capNanoUsd: cap } });
  const ofMember = makeAccount(world, { wallet: 100 * PRICE, memberCap: cap });
  const keyed = await admitMany(ofKey.digest, 4);
  const membered = await admitMany(ofMember.digest, 4);
  expect([keyed.admitted.length, membered.admitted.length]).toEqual([calls, calls]);
  expect([new Set(keyed.codes), new Set(membered.codes)]).toEqual([
    new Set(['monthly_spend_cap_exceeded']),
    new Set(['member_cap_reached']),
  ]);
});

test('exactly as many of 1,000 concurrent calls are admitted as there are slots', async () => {
  const account = makeAccount(world, { wallet: 10_000 * PRICE, terms: { concurrency: 7 } });
  const { admitted, codes } = await admitMany(account.digest, 1_000);
  expect(admitted).toHaveLength(7);
  expect(new Set(codes)).toEqual(new Set(['concurrency_limit']));
});

test('exactly as many of 1,000 concurrent calls are admitted as the minute allows', async () => {
  const account = makeAccount(world, { wallet: 10_000 * PRICE, terms: { requestsPerMinute: 61 } });
  // Starts at the beginning of a minute, so that no other minute begins during the test.
  toMinute(world, replicas[0]!, 1_000);
  const { admitted, codes } = await admitMany(account.digest, 1_000);
  expect(admitted).toHaveLength(61);
  expect(new Set(codes)).toEqual(new Set(['rate_limited']));
});

test('key and member caps are exact under concurrency regardless of who pays', async () => {
  const account = makeAccount(world, {
    wallet: 10_000 * PRICE,
    key: { capNanoUsd: 41 * PRICE },
    memberCap: 50 * PRICE,
  });
  const { admitted, codes } = await admitMany(account.digest, 300);
  expect(admitted).toHaveLength(41);
  expect(new Set(codes)).toEqual(new Set(['monthly_spend_cap_exceeded']));
});

// Covers i7
test('held sums and slots return to zero after all calls end in any order', async () => {
  const account = makeAccount(world, { wallet: 200 * PRICE, key: { capNanoUsd: 500 * PRICE }, memberCap: 500 * PRICE });
  const { admitted } = await admitMany(account.digest, 150);
  expect(admitted).toHaveLength(150);
  const voided = admitted.slice(0, 50);
  const released = admitted.slice(50, 100);
  const closedWithoutRelease = admitted.slice(100);
  const spent = 100 * PRICE;
  const snapshot = (ids: Admitted[]) => ({
    ledgerEpoch: testEpoch(1),
    accounts: [
      {
        account: account.account,
        rows: [
          { name: 'wallet', value: 200 * PRICE - spent, version: 2 },
          { name: `km:${account.key}:${admitted[0]!.hold.periods.month}`, value: spent, version: 2 },
          { name: `mm:${account.member}:${admitted[0]!.hold.periods.month}`, value: spent, version: 2 },
        ],
        closed: ids.map(({ id }) => id),
      },
    ],
  });
  const releases: ReleaseEntry[] = [
    ...voided.map((call) => release(call, 'void')),
    ...released.map((call) => release(call, 'ok', PRICE)),
  ];
  await Promise.all([
    batch(replicas[0]!, { releases: releases.slice(0, 60) }),
    replicas[1]!.admission.applySnapshots(snapshot(closedWithoutRelease)),
    batch(replicas[2]!, { releases: releases.slice(60).reverse() }),
    replicas[0]!.admission.applySnapshots(snapshot(released.slice(0, 25))),
  ]);
  await replicas[2]!.admission.applySnapshots(snapshot(released));
  const ended = await replicas[1]!.admission.readAccount(account.account);
  expect(ended.slots).toBe(0);
  expect(ended.held).toEqual({});
  expect(ended.templates).toEqual({});
  expect(ended.rows['wallet']).toEqual({ value: 100 * PRICE, version: 2 });
  const { admitted: next, codes } = await admitMany(account.digest, 200);
  expect(next).toHaveLength(100);
  expect(new Set(codes)).toEqual(new Set(['insufficient_credits']));
});
