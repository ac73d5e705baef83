import { beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { accountsCreateAccount, accountsFind, accountsLoad } from '@gateway/contracts/messages';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { FUNDED, startAccountsWorld } from '../../test/accounts-world.js';
import { accepted, AUTHOR, randomEmail, secretParts } from '../../test/operator-client.js';
import { expectVersions } from '../../test/versions.js';

const world = duringTests(startAccountsWorld);
const client = onceUsed(() => world.client);
let admissionBus: Bus;

beforeAll(async () => {
  world.fund(FUNDED);
  await Promise.all([world.start(), world.start()]);
  admissionBus = await world.connect('admission');
}, 60_000);

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_none, n) => make(n));

test('fifty concurrent requests at two replicas create at most three keys', async () => {
  const account = await client.makeAccount();
  const answers = await Promise.all(times(50, () => client.putKey(account.id)));
  expect(answers.filter((answer) => 'key' in answer)).toHaveLength(3);
  const codes = answers.flatMap((answer) => ('refused' in answer ? [answer.refused.code] : []));
  expect(new Set(codes)).toEqual(new Set(['key_limit_reached']));
  expect(await world.sql.query('SELECT FROM api_keys WHERE account = $1', [account.id])).toHaveLength(3);
});

test('twenty concurrent rotations leave one valid secret and increasing versions', async () => {
  const account = await client.makeAccount();
  const first = secretParts();
  const key = await client.makeKey(account.id, {}, first);
  const secrets = times(20, () => secretParts());
  const askedMs = Date.now();
  const answers = await Promise.all(secrets.map((parts) => client.rotate(key.id, parts)));
  expect(answers.map(accepted).map(({ repeated }) => repeated)).toEqual(secrets.map(() => false));
  const told = world.admission.keys.filter((record) => record.key === key.id);
  const versions = told.map(({ version }) => version);
  expectVersions(
    versions,
    times(20, () => askedMs),
  );
  expect(new Set(told.map(({ digest }) => digest))).toEqual(new Set(secrets.map(({ digest }) => digest)));
  const last = told.at(-1)?.digest;
  const { key: stored } = await admissionBus.request(accountsLoad, { account: account.id, key: key.id });
  expect(stored).toMatchObject({ digest: last, version: versions.at(-1) });
  for (const { digest } of [first, ...secrets]) {
    const { found } = await admissionBus.request(accountsFind, { digests: [digest] });
    expect(found?.digest ?? null).toBe(digest === last ? last : null);
  }
});

test('a key is revoked after a concurrent rotation, and admission knows it', async () => {
  for (let round = 0; round < 20; round += 1) {
    const key = await client.makeKey((await client.makeAccount()).id);
    const rotate = () => client.rotate(key.id);
    const revoke = () => client.setState(key.id, 'revoke');
    const askedMs = Date.now();
    const [rotated, revoked] =
      round % 2 === 0
        ? await Promise.all([rotate(), revoke()])
        : await Promise.all([revoke(), rotate()]).then(([second, first]) => [first, second] as const);
    expect(revoked).toMatchObject({ key: { state: 'revoked' } });
    const rotatedFirst = 'key' in rotated;
    if (!rotatedFirst) expect(rotated).toMatchObject({ refused: { code: 'key_not_active' } });
    expect(world.admission.key(key.id)).toMatchObject({ state: 'revoked' });
    expectVersions(world.admission.versions(key.id), rotatedFirst ? [askedMs, askedMs] : [askedMs]);
  }
}, 60_000);

test('a command sent concurrently creates one account, member, key and rotation', async () => {
  const commands = times(4, (n) => makeUuidV7(Date.now() + n));
  const spec = { name: 'Once', email: randomEmail(), emailVerified: true };
  const accounts = await Promise.all(
    times(10, () => world.dashboard.request(accountsCreateAccount, { spec, author: AUTHOR, command: commands[0] })),
  );
  const ids = new Set(accounts.map((answer) => accepted(answer).account.id));
  expect(ids.size).toBe(1);
  const account = [...ids][0] as string;

  const keys = await Promise.all(times(10, () => client.putKey(account, {}, secretParts(), commands[1])));
  expect(new Set(keys.map((answer) => accepted(answer).key.id)).size).toBe(1);
  expect(keys.filter((answer) => !accepted(answer).repeated)).toHaveLength(1);

  const key = accepted(keys[0] as (typeof keys)[0]).key.id;
  const askedMs = Date.now();
  const rotations = await Promise.all(times(10, () => client.rotate(key, secretParts(), commands[2])));
  expect(rotations.filter((answer) => !accepted(answer).repeated)).toHaveLength(1);
  expectVersions(world.admission.versions(key), [askedMs]);
});

test('a secret sent for many keys at once belongs to one key', async () => {
  const accounts = await Promise.all(times(6, () => client.makeAccount()));
  const keys = await Promise.all(accounts.map(({ id }) => client.makeKey(id)));
  for (let round = 0; round < 10; round += 1) {
    const parts = secretParts();
    const answers = await Promise.all([
      ...keys.map(({ id }) => client.rotate(id, parts)),
      ...(round < 2 ? [client.putKey((accounts[round] as (typeof accounts)[0]).id, {}, parts)] : []),
    ]);
    expect(answers.filter((answer) => 'key' in answer)).toHaveLength(1);
    const codes = answers.flatMap((answer) => ('refused' in answer ? [answer.refused.code] : []));
    expect(new Set(codes)).toEqual(new Set(['state_conflict']));
  }
});
