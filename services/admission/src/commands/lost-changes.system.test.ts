import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { duringTests } from '@gateway/testkit/during-tests';
import { makeBusWorld } from '../../test/bus-world.js';
import { makeAccount, makeOwners, ownersOf, PRICE } from '../../test/world.js';

const COMMAND = fileURLToPath(new URL('../../dist/commands/lost-changes.js', import.meta.url));

const owners = makeOwners();
const world = duringTests(() => makeBusWorld(ownersOf(owners)));

/** Runs the command like an operator. */
function run(): Promise<{ code: number; lines: string[] }> {
  const env = { ...process.env, GATEWAY_NATS_URL: world.admissionUrl, GATEWAY_REDIS_URL: world.redis.url };
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), lines: `${stdout}${stderr}`.trim().split('\n') }),
    );
  });
}

test('the command lists changes in effect that the database does not have', async () => {
  await world.publishCatalog(1);
  const { admission } = await world.start('one');
  const account = makeAccount({ owners }, { wallet: PRICE });
  await admission.apply({ accounts: [{ account: account.account, state: 'active', version: 1 }] });
  expect(await run()).toEqual({ code: 0, lines: ['changes in force that the database does not have: 0'] });
  await admission.apply({ keys: [{ ...account.keyRecord(), state: 'revoked', version: 2 }] });
  expect(await run()).toEqual({
    code: 1,
    lines: [
      `key ${account.key} of ${account.account}: version 2 (revoked) in force, version 1 (active) in the database`,
      'changes in force that the database does not have: 1',
    ],
  });
});
