import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PRICE, admit, admitEntry, batch, makeAccount, makeWorld, mustAdmit, release } from '../../test/world.js';
import type { Replica, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
});
afterAll(() => world.stop());

test('a call that fits is admitted, held, and given back by its release', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const admitted = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(admitted).toMatchObject({ account: account.account, repeated: false, sources: ['src-acme-fixed'] });
  expect(admitted.hold).toMatchObject({ worstNanoUsd: PRICE, planMaxNanoUsd: 0, walletMaxNanoUsd: null, key: account.key });
  const running = await one.admission.readAccount(account.account);
  expect(running.slots).toBe(1);
  expect(running.held['wallet']).toBe(PRICE);
  const { released } = await batch(one, { releases: [release(admitted, 'void')] });
  expect(released).toEqual([admitted.id]);
  const ended = await one.admission.readAccount(account.account);
  expect(ended.slots).toBe(0);
  expect(ended.held).toEqual({});
  expect(ended.holds.map(({ hold }) => hold.state)).toEqual(['gone']);
});

test('an unknown digest is refused with row 4', async () => {
  expect(await admit(one, admitEntry(one.clock, ['f'.repeat(64)]))).toMatchObject({ kind: 'refused', row: 4 });
});
