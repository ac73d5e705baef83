import { beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  accountsAudit,
  accountsCreateOperator,
  accountsDeleteOperator,
  accountsEnsurePlaygroundKey,
  accountsFindOperator,
  accountsGetKey,
  accountsListAccounts,
  accountsListKeys,
  accountsListMembers,
  accountsListOperators,
  keysUsed,
} from '@gateway/contracts/messages';
import type { OperatorView } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { FUNDED, startAccountsWorld } from '../test/accounts-world.js';
import { accepted, AUTHOR, refused, secretParts } from '../test/operator-client.js';

const world = duringTests(startAccountsWorld);
const client = onceUsed(() => world.client);
let admissionBus: Bus;

beforeAll(async () => {
  world.fund({ ...FUNDED, activeKeysMax: 100 });
  await world.start();
  admissionBus = await world.connect('admission');
}, 60_000);

let names = 0;
const createOperator = (
  more: { name?: string; role?: 'admin' | 'readonly'; digest?: string; command?: string } = {},
) => {
  const { name = `operator-${(names += 1)}`, role = 'admin', digest = secretParts().digest, command } = more;
  return world.dashboard.request(accountsCreateOperator, { spec: { name, role }, digest, author: AUTHOR, command });
};
const findOperator = async (...digests: string[]) =>
  (await world.dashboard.request(accountsFindOperator, { digests })).operator;
const deleteOperator = (operator: string) =>
  world.dashboard.request(accountsDeleteOperator, { operator, author: AUTHOR });

interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** Returns all objects of a paged list, in order. */
async function allOf<T>(ask: (cursor: string | null) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const page = await ask(cursor);
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}

test('an operator is found by the token until the operator is deleted', async () => {
  const { digest } = secretParts();
  const { operator, repeated } = accepted(await createOperator({ name: 'Ada.L@example', role: 'readonly', digest }));
  expect(repeated).toBe(false);
  expect(operator).toEqual({
    id: expect.stringMatching(/^opr_[0-9a-f]{32}$/),
    name: 'Ada.L@example',
    role: 'readonly',
    createdAt: expect.any(String),
    createdBy: AUTHOR.actor,
    expiresAt: null,
  });
  expect(await findOperator(digest)).toEqual(operator);
  expect(await findOperator('0'.repeat(64), digest)).toEqual(operator);
  expect(await deleteOperator(operator.id)).toEqual({ deleted: true });
  expect(await findOperator(digest)).toBeNull();
  expect(await deleteOperator(operator.id)).toEqual({ deleted: true });
  expect(await deleteOperator('opr_none')).toEqual(refused('not_found'));
  expect(await client.audit({ object: operator.id })).toMatchObject([
    { action: 'delete_operator', accountId: null, before: operator, after: null },
    { action: 'create_operator', accountId: null, before: null, after: operator },
  ]);
});

test("an operator's name is unique ignoring case, and cannot be root", async () => {
  const first = accepted(await createOperator({ name: 'Grace' })).operator;
  expect(await createOperator({ name: 'grace' })).toEqual(refused('state_conflict', 'name'));
  expect(await createOperator({ name: 'Root' })).toEqual(refused('invalid_request', 'name'));
  await deleteOperator(first.id);
  const again = await Promise.all(Array.from({ length: 8 }, () => createOperator({ name: 'grace' })));
  expect(again.filter((answer) => 'operator' in answer)).toHaveLength(1);
});

test('a repeated command returns its operator with the first token', async () => {
  const command = makeUuidV7(Date.now());
  const [one, two] = [secretParts().digest, secretParts().digest];
  const first = accepted(await createOperator({ name: 'Once', digest: one, command }));
  const second = accepted(await createOperator({ name: 'Once', digest: two, command }));
  expect(second).toEqual({ operator: first.operator, repeated: true });
  expect(await findOperator(two)).toBeNull();
});

test('lists return every object once, in the order of creation', async () => {
  const account = await client.makeAccount({ type: 'team' });
  for (let n = 0; n < 5; n += 1) {
    await client.makeKey(account.id, { name: `Key ${n}` });
    await client.makeMember(account.id);
    await client.makeAccount();
  }
  const keys = await allOf(async (cursor) => {
    const { keys: items, nextCursor } = accepted(
      await world.dashboard.request(accountsListKeys, { account: account.id, cursor, limit: 2 }),
    );
    expect(items.length).toBeLessThanOrEqual(2);
    return { items, nextCursor };
  });
  expect(keys.map(({ name }) => name)).toEqual(['Key 0', 'Key 1', 'Key 2', 'Key 3', 'Key 4']);
  const members = await allOf(async (cursor) => {
    const { members: items, nextCursor } = accepted(
      await world.dashboard.request(accountsListMembers, { account: account.id, cursor, limit: 3 }),
    );
    return { items, nextCursor };
  });
  expect(members.map(({ role }) => role)).toEqual(['owner', 'member', 'member', 'member', 'member', 'member']);
  let total = 0;
  const accounts = await allOf(async (cursor) => {
    const page = accepted(await world.dashboard.request(accountsListAccounts, { cursor, limit: 3 }));
    total = page.total;
    return { items: page.accounts, nextCursor: page.nextCursor };
  });
  expect(new Set(accounts.map(({ id }) => id)).size).toBe(total);
  expect(accounts).toHaveLength(total);
  expect(accounts.map(({ id }) => id)).toEqual(accounts.map(({ id }) => id).sort());
});

test('deleted operators are not listed', async () => {
  const made: OperatorView[] = [];
  for (let n = 0; n < 3; n += 1) made.push(accepted(await createOperator()).operator);
  await deleteOperator(made[1]?.id ?? '');
  const listed = await allOf(async (cursor) => {
    const page = accepted(await world.dashboard.request(accountsListOperators, { cursor, limit: 1 }));
    return { items: page.operators, nextCursor: page.nextCursor };
  });
  expect(listed.filter(({ id }) => made.some((operator) => operator.id === id))).toEqual([made[0], made[2]]);
});

test("lists refuse another list's cursor and an unknown account", async () => {
  const account = (await client.makeAccount()).id;
  const page = { limit: 2 };
  const other = `acc_${'0'.repeat(32)}`;
  for (const cursor of ['x', "'; --", `usr_${'0'.repeat(32)}`]) {
    const bad = refused('invalid_request', 'cursor');
    expect(await world.dashboard.request(accountsListAccounts, { ...page, cursor })).toEqual(bad);
    expect(await world.dashboard.request(accountsListKeys, { ...page, account, cursor })).toEqual(bad);
    expect(await world.dashboard.request(accountsListMembers, { ...page, account, cursor })).toEqual(bad);
    expect(await world.dashboard.request(accountsListOperators, { ...page, cursor })).toEqual(bad);
    expect(await world.dashboard.request(accountsAudit, { ...page, account, object: null, cursor })).toEqual(bad);
  }
  const first = { ...page, account: other, cursor: null };
  expect(await world.dashboard.request(accountsListKeys, first)).toEqual(refused('not_found'));
  expect(await world.dashboard.request(accountsListMembers, first)).toEqual(refused('not_found'));
  expect(await world.dashboard.request(accountsGetKey, { key: 'key_none' })).toEqual(refused('not_found'));
});

test('the log is listed newest first, by account, by object or completely', async () => {
  const account = await client.makeAccount();
  const key = await client.makeKey(account.id);
  await client.rotate(key.id);
  await client.setState(key.id, 'suspend');
  await client.setState(key.id, 'suspend');
  await client.setState(key.id, 'reinstate');
  await client.setState(key.id, 'revoke');
  const actions = ['revoke_key', 'reinstate_key', 'suspend_key', 'rotate_key', 'create_key'];
  const ofKey = await client.audit({ object: key.id });
  expect(ofKey.map(({ action }) => action)).toEqual(actions);
  expect(ofKey[0]).toEqual({
    id: expect.stringMatching(/^accounts\.\d+$/),
    at: expect.any(String),
    ...AUTHOR,
    action: 'revoke_key',
    accountId: account.id,
    objectId: key.id,
    before: expect.objectContaining({ state: 'active' }),
    after: expect.objectContaining({ state: 'revoked' }),
  });
  const paged = await allOf(async (cursor) => {
    const filter = { account: account.id, object: null, cursor, limit: 2 };
    const page = accepted(await world.dashboard.request(accountsAudit, filter));
    return { items: page.entries, nextCursor: page.nextCursor };
  });
  expect(paged.map(({ action }) => action)).toEqual([...actions, 'create_account']);
  const both = { account: (await client.makeAccount()).id, object: key.id };
  expect(await client.audit(both)).toEqual([]);
  expect((await client.audit({}, 2)).map(({ action }) => action)).toEqual(['create_account', 'revoke_key']);
});

test('a key shows the latest reported use', async () => {
  const account = (await client.makeAccount()).id;
  const [one, two, three] = [
    await client.makeKey(account),
    await client.makeKey(account),
    await client.makeKey(account),
  ];
  const shown = async () => {
    const page = { account, cursor: null, limit: 10 };
    const { keys } = accepted(await world.dashboard.request(accountsListKeys, page));
    return keys.map(({ lastUsedAt }) => lastUsedAt);
  };
  const tell = (...uses: [string, string][]) =>
    admissionBus.publish(keysUsed, {}, { uses: uses.map(([key, at]) => ({ key, at: Date.parse(at) })) });
  const [early, late] = ['2026-01-01T10:00:00.000Z', '2026-01-01T11:00:00.250Z'];
  tell([one.id, late], [one.id, early], [two.id, early], ['key_none', late]);
  await until('the first report is stored', async () => (await shown())[1] === early);
  expect(await shown()).toEqual([late, early, null]);
  tell([one.id, early], [three.id, '2999-01-01T00:00:00.000Z'], [two.id, late]);
  await until('the second report is stored', async () => (await shown())[1] === late);
  const [first, , future] = await shown();
  expect(first).toBe(late);
  expect(Math.abs(Date.parse(future ?? '') - Date.now())).toBeLessThan(60_000);
});

test('concurrent reports of the same keys keep the latest use', async () => {
  const account = (await client.makeAccount()).id;
  const keys = [];
  for (let n = 0; n < 20; n += 1) keys.push((await client.makeKey(account)).id);
  const start = Date.parse('2026-02-01T00:00:00Z');
  for (let report = 1; report <= 15; report += 1) {
    const uses = keys.map((key) => ({ key, at: start + report * 1_000 }));
    admissionBus.publish(keysUsed, {}, { uses: report % 2 ? uses : uses.reverse() });
  }
  await until('the latest report is stored', async () => {
    const page = { account, cursor: null, limit: 100 };
    const listed = accepted(await world.dashboard.request(accountsListKeys, page));
    return listed.keys.every(({ lastUsedAt }) => lastUsedAt === new Date(start + 15_000).toISOString());
  });
});

test('responses, audit entries and log lines contain no digest, also after faults', async () => {
  const account = await client.makeAccount();
  const parts = Array.from({ length: 6 }, () => secretParts());
  const [made, rotated, playground, operator, lost, broken] = parts as [(typeof parts)[0], ...typeof parts];
  const answers: unknown[] = [];
  const key = await client.makeKey(account.id, {}, made);
  answers.push(key, await client.rotate(key.id, rotated), await client.rotate(key.id, rotated));
  answers.push(await client.putKey(account.id, {}, rotated));
  const ensure = {
    account: account.id,
    member: account.ownerMemberId,
    digest: playground?.digest ?? '',
    author: AUTHOR,
  };
  answers.push(await world.dashboard.request(accountsEnsurePlaygroundKey, ensure));
  answers.push(await createOperator({ digest: operator?.digest ?? '' }), await findOperator(operator?.digest ?? ''));
  await world.admission.stop();
  answers.push(await client.rotate(key.id, lost));
  await world.admission.start();
  // PostgreSQL quotes the whole row in a constraint error.
  await world.sql.execute("ALTER TABLE api_keys ADD CONSTRAINT unlucky CHECK (name <> 'unlucky')");
  const fault = await client.putKey(account.id, { name: 'unlucky' }, broken).catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: 'fault' });
  await world.sql.execute('ALTER TABLE api_keys DROP CONSTRAINT unlucky');
  answers.push(String(fault), await client.audit({}), await world.sql.query('SELECT before, after FROM audit_log'));
  const logged = world.log.lines.map(({ facts, text }) => JSON.stringify([plain(facts), text]));
  expect(logged.join()).toContain('unlucky');
  const everything = JSON.stringify(answers) + logged.join();
  for (const { digest } of parts) expect(everything).not.toContain(digest);
});

/** Returns the value with the non-enumerable fields of errors, which a log may print. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const own = Object.getOwnPropertyNames(value).map((name) => [name, plain(value[name as keyof typeof value])]);
  return Object.fromEntries(own);
}
