import { expect, test } from '@jest/globals';
import {
  accountsAudit,
  accountsCloseAccount,
  accountsCreateAccount,
  accountsCreateKey,
  accountsCreateMember,
  accountsCreateOperator,
  accountsDeleteMember,
  accountsDeleteOperator,
  accountsEndSession,
  accountsEnsurePlaygroundKey,
  accountsInviteMember,
  accountsRecordAccess,
  accountsPutMember,
  accountsRequestReset,
  accountsRotateKey,
  accountsSetAccountState,
  accountsSetKeyState,
  MESSAGES,
  type RequestMessage,
} from '@gateway/contracts/messages';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { accepted, randomEmail, secretParts } from '../../test/operator-client.js';
import { startPeopleWorld } from '../../test/people-client.js';
import type { z } from 'zod';
import { createCleanupStore } from '../cleanup/store.js';

const world = duringTests(() => startPeopleWorld('access-mails'));
const people = onceUsed(() => world.people);
const pool = onceUsed(() => world.database.pool);

const origin = { client: '192.0.2.7', agent: 'a browser', requestId: 'r-1' };
const list = async (more: { account?: string; object?: string; kind?: 'change' | 'access' | 'refused' }) => {
  const page = { account: null, object: null, cursor: null, limit: 50, ...more };
  return accepted(await world.dashboard.request(accountsAudit, page)).entries;
};
const note = (entries: Parameters<typeof world.dashboard.request<typeof accountsRecordAccess>>[1]['entries']) =>
  world.dashboard.request(accountsRecordAccess, { entries });
const counted = { kind: 'refused', action: 'sign_in_refused', actor: 'stranger', account: null } as const;

test('recorded entries are listed by kind with their origin', async () => {
  await note([
    { kind: 'access', action: 'operator_sign_in', actor: 'operator:ann', account: null, objectId: 'opr_1', origin },
    { kind: 'change', action: 'end_call', actor: 'operator:ann', account: 'acc_called', objectId: 'call_1', origin },
    { ...counted, objectId: 'unknown', origin: { ...origin, agent: null }, attempts: 17, since: 60_000 },
  ]);
  expect(await list({ kind: 'access', object: 'opr_1' })).toMatchObject([
    { action: 'operator_sign_in', actor: 'operator:ann', before: null, after: null, origin },
  ]);
  expect(await list({ kind: 'change', account: 'acc_called' })).toMatchObject([
    { action: 'end_call', objectId: 'call_1', actor: 'operator:ann', before: null, after: null, origin },
  ]);
  expect(await list({ kind: 'refused' })).toMatchObject([
    { action: 'sign_in_refused', after: { attempts: 17, since: '1970-01-01T00:01:00.000Z' }, origin: { agent: null } },
  ]);
  expect((await list({ kind: 'change' })).filter(({ action }) => action.includes('sign_in'))).toEqual([]);
});

test('every command writes its actor and origin into the log', async () => {
  const { client, dashboard } = world;
  const account = await client.makeAccount({ type: 'team' });
  const [key, member] = [await client.makeKey(account.id), await client.makeMember(account.id)];
  const digest = () => secretParts().digest;
  const operator = { name: 'ann-of-origins', role: 'readonly' as const };
  const commands: readonly (readonly [RequestMessage<z.ZodType, z.ZodType>, object])[] = [
    [accountsCreateAccount, { spec: { name: 'B', email: randomEmail(), emailVerified: true, type: 'team' } }],
    [accountsCreateMember, { account: account.id, spec: { email: randomEmail(), emailVerified: true } }],
    [accountsInviteMember, { account: account.id, spec: { email: randomEmail() } }],
    [accountsPutMember, { account: account.id, member: member.id, spec: { email: member.email, role: 'admin' } }],
    [accountsEnsurePlaygroundKey, { account: account.id, member: member.id, digest: digest() }],
    [accountsDeleteMember, { account: account.id, member: member.id }],
    [accountsCreateKey, { account: account.id, spec: { name: 'k' }, ...secretParts() }],
    [accountsRotateKey, { key: key.id, ...secretParts() }],
    [accountsSetKeyState, { key: key.id, verb: 'revoke' }],
    [accountsSetAccountState, { account: account.id, verb: 'suspend' }],
    [accountsCloseAccount, { account: account.id }],
    [accountsCreateOperator, { spec: operator, digest: digest() }],
    [accountsDeleteOperator, {}],
  ];
  const known = MESSAGES.filter(
    (one) => one.servedBy.includes('accounts') && 'author' in (one.body as z.ZodObject).shape,
  );
  expect(commands.map(([{ name }]) => name).sort()).toEqual(known.map(({ name }) => name).sort());
  let made: unknown;
  for (const [message, body] of commands) {
    const author = { actor: 'operator:ann', origin: { ...origin, requestId: message.name } };
    const named = message === accountsDeleteOperator ? { operator: made } : body;
    const answer = accepted((await dashboard.request(message, { ...named, author })) as object);
    if ('operator' in answer) made = (answer.operator as { id: string }).id;
    const rows = await world.sql.query('SELECT DISTINCT actor, client, agent FROM audit_log WHERE request_id = $1', [
      message.name,
    ]);
    expect([message.name, rows]).toEqual([
      message.name,
      [{ actor: author.actor, client: origin.client, agent: origin.agent }],
    ]);
  }
});

test('sign-ins, sign-outs and requested emails are logged with their origin', async () => {
  const email = await people.verifiedPerson('right');
  const session = await people.signIn(email, 'right', '192.0.2.8');
  const user = session?.user.id ?? '';
  await world.dashboard.request(accountsRequestReset, { email, origin });
  await people.mailTo(email, 'new password');
  const unknown = randomEmail();
  await world.dashboard.request(accountsRequestReset, { email: unknown, origin });
  const end = { digests: [session?.digest ?? ''], everywhere: false, origin };
  await world.dashboard.request(accountsEndSession, end);
  await world.dashboard.request(accountsEndSession, end);
  const entries = await list({ object: user });
  expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
    ['sign_out', `user:${user}`],
    ['request_reset', 'stranger'],
    ['sign_in', `user:${user}`],
    ['verify_email', `user:${user}`],
  ]);
  expect(entries.map((entry) => entry.origin?.client)).toEqual([
    ...['192.0.2.7', '192.0.2.7', '192.0.2.8'],
    expect.stringContaining('client-'),
  ]);
  expect(entries[0]?.origin).toEqual(origin);
});

test('only refused attempts are deleted from the log after 90 days', async () => {
  await note([{ ...counted, objectId: 'usr_old', origin, attempts: 1, since: 0 }]);
  await note([{ ...counted, objectId: 'usr_young', origin, attempts: 1, since: 0 }]);
  const age = "UPDATE audit_log SET at = now() - interval '91 days' WHERE object_id = 'usr_old' OR kind <> 'refused'";
  await world.sql.execute(age);
  const others = async () => (await list({})).filter(({ action }) => action !== 'sign_in_refused').length;
  const before = await others();
  const past = {
    idempotencyKeys: 0,
    rotations: 0,
    sessionsBegan: 0,
    sessionsUsed: 0,
    operatorSessionsBegan: 0,
    operatorSessionsUsed: 0,
    tokensExpired: 0,
    attemptsBegan: 0,
  };
  expect(await createCleanupStore(pool).deleteExpired(past, 100)).toBe(1);
  expect(await list({ object: 'usr_old' })).toEqual([]);
  expect(await list({ object: 'usr_young' })).toHaveLength(1);
  expect([before > 0, await others()]).toEqual([true, before]);
});
