import { expect, test } from '@jest/globals';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { duringTests } from '@gateway/testkit/during-tests';
import { Redis } from 'ioredis';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { PRICE, admit, admitEntry, makeAccount, makeWorld } from '../../test/world.js';
import { findNewerRecords, type NewerRecord } from './newer-records.js';

const world = duringTests(makeWorld);

// Covers r17
test('lists exactly the changes that admission received and their owner has lost', async () => {
  const one = await world.replica();
  const newer = async (): Promise<NewerRecord[]> => {
    const found: NewerRecord[] = [];
    for await (const record of findNewerRecords(one.ports)) found.push(record);
    return found.sort((record, other) => record.kind.localeCompare(other.kind));
  };
  const [account, other] = [makeAccount(world, { wallet: 10 * PRICE }), makeAccount(world, { wallet: 10 * PRICE })];
  for (const { digest } of [account, other]) await admit(one, admitEntry(one.clock, [digest]));
  expect(await newer()).toEqual([]);

  // A later change that its owner has written and admission has not received is not lost.
  other.changeKey({ state: 'suspended' });
  other.state.version = 4;
  await one.admission.apply({
    accounts: [{ account: account.account, state: 'suspended', version: 3 }],
    keys: [{ ...account.keyRecord(), state: 'revoked', version: 7 }],
    members: [{ account: account.account, member: account.member, capNanoUsd: 5, version: 2 }],
  });
  const own = { account: account.account };
  expect(await newer()).toEqual([
    {
      ...own,
      kind: 'account',
      id: account.account,
      kept: { version: 3, state: 'suspended' },
      owned: { account: account.account, version: 1, state: 'active' },
    },
    {
      ...own,
      kind: 'key',
      id: account.key,
      kept: { version: 7, state: 'revoked' },
      owned: account.keyRecord(),
    },
    { ...own, kind: 'member', id: account.member, kept: { version: 2 }, owned: { version: 1 } },
  ]);

  // A key that was created and lost. The text of its record has expired.
  account.state.keys.delete(account.key);
  const redis = new Redis(world.server.url);
  await redis.del(findBucketKeys(bucketOfAccount(account.account)).keyRecords + account.key);
  redis.disconnect();
  expect(await newer()).toMatchObject([
    { kind: 'account' },
    { kind: 'key', id: account.key, kept: { version: 7, state: undefined }, owned: null },
  ]);
});
