import { expect, test } from '@jest/globals';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { randomEmail } from '../../test/operator-client.js';
import { startPeopleWorld, tokenIn } from '../../test/people-client.js';

const world = duringTests(() => startPeopleWorld('take-in-mails'));
const people = onceUsed(() => world.people);

const newTeam = () => world.client.makeAccount({ type: 'team' });
const verified = async (email: string) =>
  (await world.sql.one<{ v: boolean }>('SELECT email_verified AS v FROM users WHERE email = $1', [email]))?.v;
/** Signs up with an address. Its email is not opened. */
const signUp = async (email: string) => {
  await people.signUp(email);
  return tokenIn((await people.mailTo(email, 'Verify')).text);
};

test("verifying the address of someone else's sign-up sets only the owner's password", async () => {
  const email = randomEmail();
  const token = await signUp(email);
  expect(await people.useToken(token, 'verify', 'of the owner')).toEqual({ kind: 'used', email });
  expect((await people.signIn(email, 'of the owner'))?.user).toMatchObject({ email, emailVerified: true });
  expect(await people.useToken(token, 'verify', 'of the stranger')).toEqual({ kind: 'token_invalid' });
});

test('a user signed up by someone else and invited later needs the email to sign in', async () => {
  const email = randomEmail();
  await signUp(email);
  const team = await newTeam();
  await people.invite(team.id, email.toUpperCase(), { role: 'admin' });
  expect(await verified(email)).toBe(false);
  const { text } = await people.mailTo(email, 'invited');
  expect(text).toContain('set your password');
  expect(await people.useToken(tokenIn(text), 'invitation', 'of the owner')).toEqual({ kind: 'used', email });
  // The user also has the empty account of the sign-up.
  const owner = await people.signIn(email, 'of the owner');
  expect(owner?.accounts.map(({ role }) => role)).toEqual(['owner', 'admin']);
});

test('a sign-up with an invited address gives no access', async () => {
  const email = randomEmail();
  await people.invite((await newTeam()).id, email);
  const token = tokenIn((await people.mailTo(email, 'invited')).text);
  // Only the owner of the address gets the email of the sign-up.
  await signUp(email);
  await people.invite((await newTeam()).id, email);
  expect(await people.useToken(token, 'invitation', 'of the owner')).toEqual({ kind: 'used', email });
  expect((await people.signIn(email, 'of the owner'))?.accounts).toHaveLength(2);
});

test.each([
  ['and marks the address as verified', true],
  ['and leaves it unverified', false],
])('an operator creates an account for the address of a sign-up %s', async (_name, emailVerified) => {
  const email = randomEmail();
  await signUp(email);
  expect(await world.client.makeAccount({ email, emailVerified })).toMatchObject({ email, emailVerified });
  expect(await verified(email)).toBe(emailVerified);
});

test('a verified user keeps password and sessions in further accounts', async () => {
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
