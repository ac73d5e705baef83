import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sessionWindowRow } from '@gateway/metering';
import { testEpoch } from '@gateway/testkit/random';
import { PRICE, makeAccount, makeWorld } from '../../test/world.js';
import type { Replica, World } from '../../test/world.js';

const HOUR_MS = 3_600_000;

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
});
afterAll(() => world.stop());

test.each([[[2, 1]], [[1, 2]]])(
  'the later of two sessions that have not ended is open: started %p hours ago',
  async (ages) => {
    const account = makeAccount(world, { wallet: PRICE });
    const now = one.clock.now();
    const rows = ages.map((hours) => ({
      name: sessionWindowRow('usd', now - hours * HOUR_MS),
      value: hours * PRICE,
      version: 2,
    }));
    await one.admission.applySnapshots({
      ledgerEpoch: testEpoch(1),
      accounts: [{ account: account.account, rows, closed: [] }],
    });
    expect((await one.admission.readAccount(account.account)).session).toBe(now - HOUR_MS);
  },
);
