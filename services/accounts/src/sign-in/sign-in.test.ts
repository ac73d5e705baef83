import { afterEach, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { digestOfMailToken } from '@gateway/contracts/ids';
import {
  accountsChangePassword,
  accountsCloseAccount,
  accountsInviteMember,
  accountsCreateSession,
  accountsEndSession,
  accountsFindMailToken,
  accountsFindSession,
  accountsKeyCreation,
  accountsListKeys,
  accountsNames,
  accountsRecordAccess,
  accountsRequestReset,
  accountsResendVerification,
  accountsSignUp,
  accountsUseMailToken,
  type MailTokenKind,
} from '@gateway/contracts/messages';
import { readMail } from '@gateway/mailbox';
import { until } from '@gateway/testkit';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { DASHBOARD_URL, FUNDED } from '../../test/accounts-world.js';
import { accepted, AUTHOR, randomEmail } from '../../test/operator-client.js';
import { hashOf, leaveOne, newClient, originOf, startPeopleWorld, tokenIn } from '../../test/people-client.js';
import { ATTEMPT_LIMITS } from '../base/attempt-rules.js';
import { SESSIONS_MAX } from './sessions.js';
import { createCleanupStore } from '../cleanup/store.js';

const world = duringTests(() => startPeopleWorld('sign-in-mails'));
const people = onceUsed(() => world.people);
const pool = onceUsed(() => world.database.pool);
afterEach(() => world.fund(FUNDED));

const REQUEST_ID = '0193a1b2-0000-7000-8000-000000000001';
const hash = (name = 'first') => hashOf(name);
const digest = () => randomBytes(32).toString('hex');
const mails = async () => Promise.all((await world.mailbox.mails()).map(readMail));
const mailsTo = async (email: string) => (await mails()).filter(({ to }) => to === email);
const mailTo = (email: string, subject: string) => people.mailTo(email, subject);
const quiet = () =>
  until('no email waits', async () => (await world.sql.query('SELECT FROM mail_outbox')).length === 0);

const signUp = (email: string) => people.signUp(email);
const beginSignIn = (email: string, from: string) => people.begin(email, from);
const use = (token: string, kind: MailTokenKind, client = newClient(), name = 'second') => {
  const named = { kind, digest: digestOfMailToken(token), origin: originOf(client) };
  return world.dashboard.request(accountsUseMailToken, { ...named, passwordHash: hash(name) });
};
const find = async (...digests: string[]) => (await world.dashboard.request(accountsFindSession, { digests })).session;
const open = async (user: string, name = 'first', from = newClient()) => {
  const own = digest();
  const question = { user, comparedHash: hash(name), digest: own, origin: originOf(from) };
  const { session } = await world.dashboard.request(accountsCreateSession, question);
  return { digest: own, session };
};
/** Creates a user with a verified address. */
const person = async () => {
  const email = randomEmail();
  await signUp(email);
  const { text } = await mailTo(email, 'Verify');
  expect(await use(tokenIn(text), 'verify', newClient(), 'first')).toEqual({ kind: 'used', email });
  const begun = await beginSignIn(email, newClient());
  if (begun.kind !== 'proceed' || begun.user === null) throw new Error('nobody');
  return { email, id: begun.user.id };
};
const resend = (email: string) =>
  world.dashboard.request(accountsResendVerification, { email, origin: originOf(newClient()) });
const requestReset = (email: string, from = newClient()) =>
  world.dashboard.request(accountsRequestReset, { email, origin: originOf(from) });

test('a sign-up creates a user whose link verifies and sets the password once', async () => {
  const email = randomEmail();
  expect(await signUp(email.toUpperCase())).toEqual({ kind: 'accepted' });
  const { text } = await mailTo(email, 'Verify');
  expect(text).toContain(`${DASHBOARD_URL}/verify#token=`);
  expect(await use(tokenIn(text), 'reset')).toEqual({ kind: 'token_invalid' });
  expect(await use(tokenIn(text), 'verify', newClient(), 'first')).toEqual({ kind: 'used', email });
  expect(await use(tokenIn(text), 'verify')).toEqual({ kind: 'token_invalid' });
  const begun = await beginSignIn(email, newClient());
  expect(begun).toMatchObject({ kind: 'proceed', user: { passwordHash: hash() } });
  const { session } = await open(begun.kind === 'proceed' ? (begun.user?.id ?? '') : '');
  expect(session).toMatchObject({
    user: { email, emailVerified: true },
    accounts: [{ name: 'Ann', type: 'personal', state: 'active', role: 'owner' }],
  });
});

test('a used link can start a session and ends earlier ones', async () => {
  const email = randomEmail();
  await signUp(email);
  const token = tokenIn((await mailTo(email, 'Verify')).text);
  const session = digest();
  const question = { kind: 'verify', digest: digestOfMailToken(token), passwordHash: hash(), session } as const;
  await world.dashboard.request(accountsUseMailToken, { ...question, origin: originOf(newClient()) });
  expect(await find(session)).toMatchObject({ user: { email, emailVerified: true } });
  await requestReset(email);
  await use(tokenIn((await mailTo(email, 'new password')).text), 'reset');
  expect(await find(session)).toBeNull();
});

test('a user with an unverified address cannot sign in', async () => {
  const email = randomEmail();
  await signUp(email);
  await mailTo(email, 'Verify');
  expect(await beginSignIn(email, newClient())).toEqual(await beginSignIn(randomEmail(), newClient()));
  const setPassword = 'UPDATE users SET password_hash = $2 WHERE email = $1';
  await expect(world.sql.execute(setPassword, [email, hash()])).rejects.toThrow('users_password_verified');
});

test('a sign-up responds without reading the address', async () => {
  const { email } = await person();
  const waits = async (work: () => Promise<unknown>) => {
    const held = await world.database.admin.connect();
    try {
      await held.query('BEGIN');
      await held.query('LOCK TABLE users IN ACCESS EXCLUSIVE MODE');
      return await work();
    } finally {
      await held.query('ROLLBACK');
      held.release();
    }
  };
  expect(await waits(() => signUp(email))).toEqual({ kind: 'accepted' });
  const unknown = randomEmail();
  expect(await waits(() => signUp(unknown))).toEqual({ kind: 'accepted' });
  await mailTo(email, 'already');
  await mailTo(unknown, 'Verify');
});

test('a sign-up with a known address emails a reset link and changes nothing', async () => {
  const { email } = await person();
  expect(await signUp(email)).toEqual({ kind: 'accepted' });
  const { text } = await mailTo(email, 'already');
  expect(text).toContain(`${DASHBOARD_URL}/reset#token=`);
  expect(await beginSignIn(email, newClient())).toMatchObject({ user: { passwordHash: hash() } });
  const accounts = 'SELECT FROM members m JOIN users u ON u.id = m.user_id WHERE u.email = $1';
  expect(await world.sql.query(accounts, [email])).toHaveLength(1);
  expect(await use(tokenIn(text), 'reset')).toEqual({ kind: 'used', email });
  // A member added by an operator has no password, and a sign-up cannot set one.
  const invited = await world.client.makeAccount();
  expect(await signUp(invited.email)).toEqual({ kind: 'accepted' });
  await mailTo(invited.email, 'already');
  expect(await beginSignIn(invited.email, newClient())).toEqual({ kind: 'proceed', user: null });
});

test('an unknown address gets the same response after the same work', async () => {
  const unknown = randomEmail();
  expect(await beginSignIn(unknown, newClient())).toEqual({ kind: 'proceed', user: null });
  const queued = 'SELECT count(*)::int AS n FROM mail_outbox';
  const known = (await person()).email;
  await quiet();
  for (const email of [unknown, known]) {
    expect(await requestReset(email)).toEqual({ kind: 'accepted' });
    expect(await resend(email)).toEqual({ kind: 'accepted' });
  }
  await quiet();
  expect(await mailsTo(unknown)).toEqual([]);
  // A verified address gets no second verification email.
  expect((await mailsTo(known)).filter(({ subject }) => subject.includes('Verify'))).toHaveLength(1);
  expect(await world.sql.one(queued)).toEqual({ n: 0 });
});

test('a session is found by its digest, moves to the next secret, and expires', async () => {
  const { id, email } = await person();
  const one = await open(id);
  expect(await find(one.digest)).toMatchObject({ user: { id, email, emailVerified: true } });
  expect(await find(digest())).toBeNull();
  const renamed = digest();
  expect(await find(renamed, one.digest)).not.toBeNull();
  expect(await find(one.digest)).toBeNull();
  expect(await find(renamed)).not.toBeNull();
  const age = (column: string, days: number) =>
    world.sql.execute(`UPDATE sessions SET ${column} = now() - $2 * interval '1 day' WHERE digest = $1`, [
      renamed,
      days,
    ]);
  await age('seen_at', 6.9);
  expect(await find(renamed)).not.toBeNull();
  await age('seen_at', 7.1);
  expect(await find(renamed)).toBeNull();
  await age('seen_at', 0);
  await age('created_at', 30.1);
  expect(await find(renamed)).toBeNull();
});

test('one session or all sessions of a user end, and the oldest above the maximum', async () => {
  const { id } = await person();
  const other = await person();
  const theirs = await open(other.id);
  const [one, two, three] = [await open(id), await open(id), await open(id)];
  await world.dashboard.request(accountsEndSession, {
    digests: [one.digest],
    everywhere: false,
    origin: originOf(newClient()),
  });
  expect([await find(one.digest), await find(two.digest)]).toEqual([null, expect.anything()]);
  await world.dashboard.request(accountsEndSession, {
    digests: [two.digest],
    everywhere: true,
    origin: originOf(newClient()),
  });
  expect([await find(two.digest), await find(three.digest)]).toEqual([null, null]);
  expect(await find(theirs.digest)).not.toBeNull();
  const first = await open(id);
  await world.sql.execute(
    `INSERT INTO sessions (digest, user_id, created_at, seen_at)
     SELECT encode(sha256(($1 || n)::bytea), 'hex'), $1, now(), now() FROM generate_series(2, $2) n`,
    [id, SESSIONS_MAX],
  );
  await open(id);
  expect(await find(first.digest)).toBeNull();
  expect(await world.sql.query('SELECT FROM sessions WHERE user_id = $1', [id])).toHaveLength(SESSIONS_MAX);
});

test('an outdated password starts no session, and a change ends other sessions', async () => {
  const { id, email } = await person();
  const [mine, other] = [await open(id), await open(id)];
  const change = (compared: string, next: string) =>
    world.dashboard.request(accountsChangePassword, {
      user: id,
      comparedHash: hash(compared),
      newHash: hash(next),
      digests: [mine.digest],
      origin: originOf(newClient()),
    });
  expect(await change('guessed', 'third')).toEqual({ changed: false });
  expect(await change('first', 'third')).toEqual({ changed: true });
  expect([await find(mine.digest), await find(other.digest)]).toEqual([expect.anything(), null]);
  expect((await open(id, 'first')).session).toBeNull();
  expect((await open(id, 'third')).session).not.toBeNull();
  await mailTo(email, 'was changed');
});

test('a reset link works once within an hour and ends all sessions', async () => {
  const { email, id } = await person();
  const before = await open(id);
  await world.sql.execute('DELETE FROM mail_tokens WHERE user_id = $1', [id]);
  await requestReset(email);
  const old = tokenIn((await mailTo(email, 'new password')).text);
  await world.sql.execute("UPDATE mail_tokens SET expires_at = now() - interval '1 second' WHERE digest = $1", [
    digestOfMailToken(old),
  ]);
  expect(await use(old, 'reset')).toEqual({ kind: 'token_invalid' });
  await requestReset(email);
  const token = await until('another token', async () => {
    const next = tokenIn((await mailTo(email, 'new password')).text);
    return next === old ? false : next;
  });
  const asked = { kind: 'reset', digest: digestOfMailToken(token), client: newClient() } as const;
  expect(await world.dashboard.request(accountsFindMailToken, asked)).toEqual({ kind: 'found' });
  const both = await Promise.all([use(token, 'reset'), use(token, 'reset')]);
  expect(both.map(({ kind }) => kind).sort()).toEqual(['token_invalid', 'used']);
  expect(await find(before.digest)).toBeNull();
  expect((await open(id, 'second')).session).toMatchObject({ user: { emailVerified: true } });
  expect(await world.sql.query('SELECT FROM mail_tokens WHERE user_id = $1', [id])).toEqual([]);
});

test('invalid tokens are counted per client', async () => {
  const from = newClient();
  const { email } = await person();
  await requestReset(email);
  const token = tokenIn((await mailTo(email, 'new password')).text);
  const guess = () => use(randomBytes(32).toString('base64url'), 'reset', from);
  await leaveOne(world, ATTEMPT_LIMITS.tokenClient, guess);
  expect(await guess()).toEqual({ kind: 'token_invalid' });
  expect((await guess()).kind).toBe('throttled');
  expect((await use(token, 'reset', from)).kind).toBe('throttled');
  expect((await use(token, 'reset')).kind).toBe('used');
});

test('an invited person sets a password by the link, or signs in with theirs', async () => {
  const team = await world.client.makeAccount({ type: 'team' });
  const invite = (email: string) => people.invite(team.id, email);
  const email = randomEmail();
  const member = await invite(email);
  const token = tokenIn((await mailTo(email, 'invited')).text);
  expect(await use(token, 'invitation')).toEqual({ kind: 'used', email });
  expect(await use(token, 'invitation')).toEqual({ kind: 'token_invalid' });
  const begun = await beginSignIn(email, newClient());
  const { session } = await open(begun.kind === 'proceed' ? (begun.user?.id ?? '') : '', 'second');
  expect(session).toMatchObject({ user: { emailVerified: true }, accounts: [{ id: team.id, role: 'member' }] });
  const known = await person();
  await invite(known.email);
  const mail = await mailTo(known.email, 'invited');
  expect([tokenIn(mail.text), mail.text.includes('/sign-in')]).toEqual(['', true]);
  expect((await open(known.id)).session?.accounts).toHaveLength(2);
  const names = { account: team.id, keys: [], members: [member.id, team.ownerMemberId, 'mem_x'] };
  const { members } = await world.dashboard.request(accountsNames, names);
  expect(members.map((one) => one.email).sort()).toEqual([email, team.email].sort());
  const foreign = await world.dashboard.request(accountsNames, { ...names, account: 'acc_x' });
  expect(foreign).toEqual({ keys: [], members: [] });
});

test('a person gets at most five emails of a kind per hour', async () => {
  const email = randomEmail();
  await signUp(email);
  await mailTo(email, 'Verify');
  for (let again = 0; again < 9; again += 1) expect(await resend(email)).toEqual({ kind: 'accepted' });
  await quiet();
  expect(await mailsTo(email)).toHaveLength(5);
  const tokens = 'SELECT FROM mail_tokens t JOIN users u ON u.id = t.user_id WHERE u.email = $1';
  expect(await world.sql.query(tokens, [email])).toHaveLength(5);
});

test('invitations per account and hour are limited; refused ones do not count', async () => {
  const team = await world.client.makeAccount({ type: 'team' });
  const invite = (email: string) =>
    world.dashboard.request(accountsInviteMember, { account: team.id, spec: { email }, author: AUTHOR });
  const known = randomEmail();
  await leaveOne(world, ATTEMPT_LIMITS.inviteAccount, () => invite(known));
  for (let again = 0; again < 3; again += 1)
    expect(await invite(known)).toMatchObject({ refused: { code: 'state_conflict' } });
  expect(await invite(randomEmail())).toHaveProperty('member');
  const late = randomEmail();
  expect(await invite(late)).toMatchObject({ kind: 'throttled' });
  expect(await world.sql.query('SELECT FROM users WHERE email = $1', [late])).toEqual([]);
});

test('tokens are only in emails, not in database, outbox or log', async () => {
  const tokens = (await mails()).map(({ text }) => tokenIn(text)).filter((token) => token !== '');
  expect(tokens.length).toBeGreaterThan(10);
  const tables = ['users', 'sessions', 'mail_tokens', 'attempts', 'audit_log', 'mail_outbox'];
  const stored = await Promise.all(tables.map((table) => world.sql.query(`SELECT t::text FROM ${table} t`)));
  const texts = JSON.stringify([stored, world.log.lines]);
  for (const token of tokens) expect(texts).not.toContain(token);
  expect(JSON.stringify(world.log.lines)).not.toMatch(/\$scrypt\$|@example/);
});

test('closing an account deletes password, sessions and tokens of its last user', async () => {
  const { id, email } = await person();
  const { digest: own, session } = await open(id);
  await requestReset(email);
  await mailTo(email, 'new password');
  const account = session?.accounts[0]?.id ?? '';
  world.answerClosing({ closed: true });
  accepted(await world.dashboard.request(accountsCloseAccount, { account, author: AUTHOR }));
  expect(await find(own)).toBeNull();
  expect(await beginSignIn(email, newClient())).toEqual({ kind: 'proceed', user: null });
  expect(await world.sql.query('SELECT FROM mail_tokens WHERE user_id = $1', [id])).toEqual([]);
  expect(await signUp(email)).toEqual({ kind: 'accepted' });
});

test('closing an account erases networks and user agents of its last user', async () => {
  const signUpFrom = {
    name: 'Ann',
    email: randomEmail(),
    origin: { client: newClient(), agent: 'Browser of Ann', requestId: REQUEST_ID },
  };
  await world.dashboard.request(accountsSignUp, signUpFrom);
  const { text } = await mailTo(signUpFrom.email, 'Verify');
  await use(tokenIn(text), 'verify');
  const begun = await beginSignIn(signUpFrom.email, newClient());
  const id = begun.kind === 'proceed' ? (begun.user?.id ?? '') : '';
  const account = (await open(id, 'second')).session?.accounts[0]?.id ?? '';
  const origin = { client: '192.0.2.7', agent: 'Browser of Ann', requestId: REQUEST_ID };
  const exported = { kind: 'access', action: 'export', account, objectId: 'exportUsageRecords', origin } as const;
  const entries = [
    { ...exported, actor: `user:${id}` },
    { ...exported, actor: AUTHOR.actor },
  ];
  await world.dashboard.request(accountsRecordAccess, { entries });
  const where = (actor: string) =>
    world.sql.query<{ action: string; origin: string }>(
      'SELECT action, concat(client, agent) AS origin FROM audit_log WHERE actor = $1 AND account = $2 ORDER BY id',
      [actor, account],
    );
  expect((await where(`user:${id}`)).map(({ action, origin: from }) => [action, from !== ''])).toEqual([
    ['sign_up', true],
    ['export', true],
  ]);
  world.answerClosing({ closed: true });
  accepted(await world.dashboard.request(accountsCloseAccount, { account, author: AUTHOR }));
  const left =
    'SELECT action FROM audit_log WHERE (actor = $1 OR object_id = $2) AND (client, agent) IS DISTINCT FROM (NULL, NULL)';
  expect(await world.sql.query(left, [`user:${id}`, id])).toEqual([]);
  expect((await where(`user:${id}`)).map(({ action }) => action)).toEqual(['sign_up', 'export']);
  expect((await where(AUTHOR.actor))[0]).toEqual({ action: 'export', origin: '192.0.2.7Browser of Ann' });
});

test('only expired sessions and attempts are deleted', async () => {
  const { id } = await person();
  const [kept, idle, old] = [await open(id), await open(id), await open(id)];
  await world.sql.execute("UPDATE sessions SET seen_at = now() - interval '8 days' WHERE digest = $1", [idle.digest]);
  await world.sql.execute("UPDATE sessions SET created_at = now() - interval '31 days' WHERE digest = $1", [
    old.digest,
  ]);
  const now = Date.now();
  const day = 86_400_000;
  const before = {
    idempotencyKeys: 0,
    rotations: 0,
    sessionsBegan: now - 30 * day,
    sessionsUsed: now - 7 * day,
    operatorSessionsBegan: now - day,
    operatorSessionsUsed: now - day,
    tokensExpired: now,
    attemptsBegan: now,
  };
  await createCleanupStore(pool).deleteExpired(before, 1_000);
  const left = await world.sql.query<{ digest: string }>('SELECT digest FROM sessions WHERE user_id = $1', [id]);
  expect(left).toEqual([{ digest: kept.digest }]);
  expect(await world.sql.query('SELECT FROM attempts')).toEqual([]);
});

test('keyCreation returns the result of the key rules for each member', async () => {
  const team = await world.client.makeAccount({ type: 'team' });
  const unverified = await world.client.makeMember(team.id, { emailVerified: false });
  const creation = async (member: string) =>
    accepted(await world.dashboard.request(accountsKeyCreation, { account: team.id, member }));
  world.fund({ ...FUNDED, defaultKeyCapNanoUsd: 2_500_000_000 });
  expect(await creation(team.ownerMemberId)).toEqual({
    refusal: null,
    activeKeys: 0,
    activeKeysMax: 3,
    defaultCapUsd: '2.50',
  });
  expect(await creation(unverified.id)).toMatchObject({ refusal: { refused: { code: 'email_not_verified' } } });
  world.fund({ ...FUNDED, walletNanoUsd: 0 });
  expect(await creation(team.ownerMemberId)).toMatchObject({ refusal: { refused: { code: 'no_funding' } } });
  world.fund({ ...FUNDED, activeKeysMax: 1 });
  const key = await world.client.makeKey(team.id, {});
  expect(await creation(team.ownerMemberId)).toMatchObject({
    refusal: { refused: { code: 'key_limit_reached' } },
    activeKeys: 1,
  });
  const keysOf = async (member: string) => {
    const page = { account: team.id, member, cursor: null, limit: 10 };
    return accepted(await world.dashboard.request(accountsListKeys, page)).keys.map(({ id }) => id);
  };
  expect([await keysOf(team.ownerMemberId), await keysOf(unverified.id)]).toEqual([[key.id], []]);
});
