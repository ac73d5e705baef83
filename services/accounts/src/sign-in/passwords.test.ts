import { expect, test } from '@jest/globals';
import { accountsChangePassword } from '@gateway/contracts/messages';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { randomEmail } from '../../test/operator-client.js';
import { hashOf, leaveOne, newClient, originOf, startPeopleWorld, tokenIn } from '../../test/people-client.js';
import { ATTEMPT_LIMITS, type AttemptLimit } from '../base/attempt-rules.js';

const world = duringTests(() => startPeopleWorld('limits-mails'));
const people = onceUsed(() => world.people);

const person = () => people.verifiedPerson('right');
const kindOf = async (email: string, client?: string) => (await people.begin(email, client)).kind;
const guess = async (times: number, email: string, client = newClient()) => {
  for (let one = 0; one < times; one += 1) await people.begin(email, client);
};
const { signInPair, signInAddress, signInClient } = ATTEMPT_LIMITS;
/**
 * These addresses and ada@example.com share the first 18 bits of the SHA-256 of kind and address.
 */
const PLAIN_COLLISIONS = ['a354300@evil.example.com', 'a636358@evil.example.com', 'a659831@evil.example.com'];
const slotOf = async ({ kind }: AttemptLimit, subject: string) =>
  (await world.sql.one<{ slot: number }>('SELECT attempt_slot($1, $2) AS slot', [kind, subject]))?.slot;
/** Returns the current count. Null: never counted. */
const counted = async (limit: AttemptLimit, subject: string) => {
  const text = 'SELECT attempts FROM attempts WHERE kind = $1 AND slot = $2';
  const row = await world.sql.one<{ attempts: number }>(text, [limit.kind, await slotOf(limit, subject)]);
  return row && row.attempts;
};

test.each([
  ['a known address', person],
  ['an unknown address', () => Promise.resolve(randomEmail())],
])('guesses for %s are refused after ten, only for this client', async (_name, make) => {
  const email = await make();
  const from = newClient();
  for (let one = 1; one <= signInPair.attemptsMax; one += 1) expect(await kindOf(email, from)).toBe('proceed');
  const refused = await people.begin(email, from);
  if (refused.kind !== 'throttled') throw new Error('not throttled');
  expect(refused.retryAfterSeconds).toBeGreaterThan(0);
  expect(refused.retryAfterSeconds).toBeLessThanOrEqual(900);
  expect(await kindOf(email)).toBe('proceed');
});

test('concurrent guesses are counted, and many clients do not bypass the limit', async () => {
  const email = await person();
  const from = newClient();
  const begun = await Promise.all(Array.from({ length: 14 }, () => people.begin(email, from)));
  expect(begun.filter(({ kind }) => kind === 'proceed')).toHaveLength(10);
  await leaveOne(world, signInAddress, () => people.begin(email));
  expect(await kindOf(email)).toBe('proceed');
  expect(await kindOf(email)).toBe('throttled');
});

test('a client above its limit is refused for all addresses and counts for none', async () => {
  const from = newClient();
  await leaveOne(world, signInClient, () => people.begin(randomEmail(), from));
  expect(await kindOf(randomEmail(), from)).toBe('proceed');
  const email = await person();
  for (let one = 0; one < 12; one += 1) expect(await kindOf(email, from)).toBe('throttled');
  expect([await counted(signInPair, `${from} ${email}`), await counted(signInAddress, email)]).toEqual([null, null]);
  expect(await world.sql.query('SELECT FROM attempts WHERE slot NOT BETWEEN 0 AND 262143')).toEqual([]);
});

test("one client's guesses at an address do not lock out other clients", async () => {
  const email = await person();
  await guess(signInAddress.attemptsMax + 2, email);
  expect(await counted(signInAddress, email)).toBe(signInPair.attemptsMax);
  expect(await people.signIn(email, 'right')).not.toBeNull();
});

test('a correct password removes only its own attempt from the counts', async () => {
  const email = await person();
  const [own, office] = [newClient(), newClient()];
  await guess(9, email, own);
  for (const client of [office, newClient()]) await guess(7, email, client);
  await guess(3, randomEmail(), own);
  for (let again = 0; again < 3; again += 1) expect(await people.signIn(email, 'right', own)).not.toBeNull();
  expect(await counted(signInPair, `${own} ${email}`)).toBe(9);
  expect(await counted(signInPair, `${office} ${email}`)).toBe(7);
  expect(await counted(signInAddress, email)).toBe(23);
  expect(await counted(signInClient, own)).toBe(12);
  expect([await kindOf(email, own), await kindOf(email, own)]).toEqual(['proceed', 'throttled']);
});

test('a changed password removes its attempt, and no count is negative', async () => {
  const email = await person();
  const client = newClient();
  const begun = await people.begin(email, client);
  if (begun.kind !== 'proceed' || begun.user === null) throw new Error('nobody');
  const { id: user } = begun.user;
  for (const [old, next] of [
    ['right', 'better'],
    ['better', 'best'],
  ] as const) {
    const hashes = { comparedHash: hashOf(old), newHash: hashOf(next) };
    const question = { user, ...hashes, digests: ['0'.repeat(64)], origin: originOf(client) };
    expect(await world.dashboard.request(accountsChangePassword, question)).toEqual({ changed: true });
    const subjects = [
      counted(signInClient, client),
      counted(signInPair, `${client} ${email}`),
      counted(signInAddress, email),
    ];
    expect(await Promise.all(subjects)).toEqual([0, 0, 0]);
  }
});

test('addresses with equal plain hashes have different slots', async () => {
  const slots = ['ada@example.com', ...PLAIN_COLLISIONS].map((email) => slotOf(signInAddress, email));
  expect(new Set(await Promise.all(slots)).size).toBeGreaterThan(1);
  const salts = await world.sql.query<{ salt: Buffer }>('SELECT salt FROM attempt_salt');
  expect(salts.map(({ salt }) => salt.length)).toEqual([32]);
});

test('a sign-in of an address in the same slot gives no more guesses', async () => {
  const text = `SELECT min(email) AS victim, max(email) AS other
      FROM (SELECT 'c' || n || '@example.com' AS email FROM generate_series(1, 4000) n) made
     GROUP BY attempt_slot($1, email) HAVING count(*) > 1 LIMIT 1`;
  const found = await world.sql.one<{ victim: string; other: string }>(text, [signInAddress.kind]);
  if (found === null) throw new Error('4,000 addresses have slots of their own');
  const { victim, other } = found;
  for (const email of [victim, other]) {
    await people.signUp(email);
    await people.useToken(tokenIn((await people.mailTo(email, 'Verify')).text), 'verify', 'right');
  }
  await leaveOne(world, signInAddress, () => people.begin(victim));
  for (let again = 0; again < 3; again += 1) expect(await people.signIn(other, 'right')).not.toBeNull();
  expect([await kindOf(victim), await kindOf(victim)]).toEqual(['proceed', 'throttled']);
});

test('sign-ups are counted per client, each once', async () => {
  const { signUpClient } = ATTEMPT_LIMITS;
  const from = newClient();
  const signUp = (client: string) => people.signUp(randomEmail(), client);
  await leaveOne(world, signUpClient, () => signUp(from));
  expect(await signUp(from)).toEqual({ kind: 'accepted' });
  const email = randomEmail();
  const refused = await people.signUp(email, from);
  if (refused.kind !== 'throttled') throw new Error('not throttled');
  expect(refused.retryAfterSeconds).toBeGreaterThan(0);
  expect(refused.retryAfterSeconds).toBeLessThanOrEqual(3_600);
  expect(await signUp(newClient())).toEqual({ kind: 'accepted' });
  expect(await world.sql.query('SELECT FROM users WHERE email = $1', [email])).toEqual([]);
});
