import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accountsChangePassword } from '@gateway/contracts/messages';
import { randomEmail, refused } from '../../test/operator-client.js';
import { hashOf, newClient, startPeopleWorld, tokenIn, type PeopleWorld } from '../../test/people-client.js';

let started: PeopleWorld;
let world: PeopleWorld['world'];
let people: PeopleWorld['people'];
beforeAll(async () => {
  started = await startPeopleWorld('take-in-mails');
  ({ world, people } = started);
}, 60_000);
afterAll(() => started.stop());

/** A stranger who has signed up with somebody's address and is signed in, and what they have by that. */
const strangerWith = async (email: string) => {
  await people.signUp(email, 'of the stranger');
  const verifying = tokenIn((await people.mailTo(email, 'Verify')).text);
  const session = await people.signIn(email, 'of the stranger');
  if (session === null) throw new Error('the stranger is not signed in');
  return { ...session, verifying };
};
const isOut = async (email: string, stranger: { readonly digest: string; readonly verifying: string }) => {
  expect(await people.session(stranger.digest)).toBeNull();
  expect(await people.signIn(email, 'of the stranger')).toBeNull();
  expect(await people.useToken(stranger.verifying, 'verify')).toEqual({ kind: 'token_invalid' });
};
const newTeam = () => world.client.makeAccount({ type: 'team' });
const verified = async (email: string) =>
  (await world.sql.one<{ v: boolean }>('SELECT email_verified AS v FROM users WHERE email = $1', [email]))?.v;

test.each([
  ['an invitation', false],
  ['one that calls the address verified', true],
])('a stranger who signed up with the address first is put out by %s', async (_name, emailVerified) => {
  const email = randomEmail();
  const stranger = await strangerWith(email);
  const team = await newTeam();
  await people.invite(team.id, email.toUpperCase(), { role: 'admin', emailVerified });
  await isOut(email, stranger);
  expect(await verified(email)).toBe(emailVerified);
  // What the stranger compared with before the invitation opens and changes nothing after it.
  const comparedHash = hashOf('of the stranger');
  const change = { user: stranger.user.id, comparedHash, newHash: hashOf('x'), digests: [stranger.digest] };
  expect(await world.dashboard.request(accountsChangePassword, { ...change, client: newClient() })).toEqual({
    changed: false,
  });
  // Who reads the mail gets in, and has the stranger's empty account beside the team.
  const { text } = await people.mailTo(email, 'invited');
  expect(text).toContain('set your password');
  expect(await people.useToken(tokenIn(text), 'invitation', 'of the owner')).toEqual({ kind: 'used', email });
  const owner = await people.signIn(email, 'of the owner');
  expect(owner?.user).toEqual({ id: stranger.user.id, email, emailVerified: true });
  expect(owner?.accounts.map(({ id, role }) => [id, role])).toEqual([
    [stranger.accounts[0]?.id, 'owner'],
    [team.id, 'admin'],
  ]);
  const dropped = (await world.client.audit({ object: stranger.user.id })).filter(
    ({ action }) => action === 'drop_unproven_password',
  );
  expect(dropped).toMatchObject([{ actor: 'operator:test', before: null, after: null }]);
});

test('a stranger who signs up with the address of somebody who was invited has nothing by it', async () => {
  const email = randomEmail();
  const team = await newTeam();
  await people.invite(team.id, email);
  expect(await people.signUp(email, 'of the stranger')).toEqual({ kind: 'accepted' });
  expect(await people.signIn(email, 'of the stranger')).toBeNull();
  // A second invitation takes nothing back from the first: its link goes on.
  const token = tokenIn((await people.mailTo(email, 'invited')).text);
  await people.invite((await newTeam()).id, email);
  expect(await people.useToken(token, 'invitation', 'of the owner')).toEqual({ kind: 'used', email });
  expect((await people.signIn(email, 'of the owner'))?.accounts).toHaveLength(2);
});

test.each([
  ['and calls the address verified', true],
  ['and leaves it to be verified', false],
])('a stranger is put out when an operator makes an account for the address %s', async (_name, emailVerified) => {
  const email = randomEmail();
  const stranger = await strangerWith(email);
  const account = await world.client.makeAccount({ email, emailVerified });
  expect(account).toMatchObject({ email, emailVerified });
  await isOut(email, stranger);
  expect(await verified(email)).toBe(emailVerified);
});

test('a stranger of an unverified address has made no key by then, in the own account or elsewhere', async () => {
  const email = randomEmail();
  const stranger = await strangerWith(email);
  const own = stranger.accounts[0]?.id ?? '';
  expect(await world.client.putKey(own)).toEqual(refused('email_not_verified'));
  await people.invite((await newTeam()).id, email);
  const keys = 'SELECT FROM api_keys k JOIN members m ON m.id = k.member WHERE m.user_id = $1';
  expect(await world.sql.query(keys, [stranger.user.id])).toEqual([]);
});

test('a verified user keeps password and sessions, and is simply a member, or the owner of one more account', async () => {
  const email = await people.verifiedPerson('of the owner');
  const session = await people.signIn(email, 'of the owner');
  const team = await newTeam();
  await people.invite(team.id, email);
  const { text } = await people.mailTo(email, 'invited');
  expect([tokenIn(text), text.includes('/sign-in')]).toEqual(['', true]);
  const made = await world.client.makeAccount({ email });
  const found = await people.session(session?.digest ?? '');
  expect(found?.user).toEqual(session?.user);
  expect(found?.accounts.map(({ id }) => id)).toEqual([session?.accounts[0]?.id, team.id, made.id]);
  expect(await people.signIn(email, 'of the owner')).not.toBeNull();
});

test('a sign-in at the moment of the invitation does not outlive it', async () => {
  for (let again = 0; again < 5; again += 1) {
    const email = randomEmail();
    await people.signUp(email, 'of the stranger');
    const team = await newTeam();
    const signIns = Array.from({ length: 4 }, () => people.signIn(email, 'of the stranger'));
    const [, ...made] = await Promise.all([people.invite(team.id, email), ...signIns]);
    for (const session of made) expect(session && (await people.session(session.digest))).toBeNull();
  }
});
