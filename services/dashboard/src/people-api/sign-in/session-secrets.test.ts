import { expect, test } from '@jest/globals';
import { hasKeyForm } from '@gateway/contracts/ids';
import { Secret } from '@gateway/service-kit';
import { createSessionSecrets } from './session-secrets.js';

const OLD = new Secret('the old session secret 0123456789abcdef');
const NEW = new Secret('the new session secret 0123456789abcdef');
const GATEWAY_KEY_PEPPER = { current: new Secret('a pepper of tests 0123456789abcdefghij'), previous: null };
const make = (current: Secret, previous: Secret | null = null) =>
  createSessionSecrets({ GATEWAY_SESSION_SECRET: { current, previous }, GATEWAY_KEY_PEPPER }, 'mgw_live_');

test('values of the previous secret stay valid under the next secret only', () => {
  const [before, during, after] = [make(OLD), make(NEW, OLD), make(NEW)];
  const session = before.makeSession();
  expect(session).toMatch(/^[\w-]{43}$/);
  expect(during.digestsOf(session)).toEqual([after.digestsOf(session)[0], before.digestsOf(session)[0]]);
  const token = before.csrfTokenOf(session);
  expect([during, after].map((secrets) => secrets.isCsrfToken(session, token))).toEqual([true, false]);
  const owner = { account: 'acc_1', member: 'mem_1' };
  expect(during.playgroundKey(owner).digests[1]).toBe(before.playgroundKey(owner).digests[0]);
});

test('a csrf token belongs to one cookie and differs from all other values', () => {
  const secrets = make(NEW);
  const [one, two] = [secrets.makeSession(), secrets.makeSession()];
  expect(secrets.isCsrfToken(one, secrets.csrfTokenOf(one))).toBe(true);
  expect(secrets.isCsrfToken(two, secrets.csrfTokenOf(one))).toBe(false);
  const digest = Buffer.from(secrets.digestsOf(one)[0] ?? '', 'hex').toString('base64url');
  for (const guess of ['', 'x', one, digest]) expect(secrets.isCsrfToken(one, guess)).toBe(false);
});

test("an operator's cookie has other digests than a person's", () => {
  const [before, during] = [make(OLD), make(NEW, OLD)];
  const cookie = before.makeSession();
  expect(during.operatorDigestsOf(cookie)).toEqual([
    make(NEW).operatorDigestsOf(cookie)[0],
    before.operatorDigestsOf(cookie)[0],
  ]);
  expect(during.operatorDigestsOf(cookie)).not.toContain(during.digestsOf(cookie)[0]);
});

test('a playground key has the form of a key and belongs to one member', () => {
  const secrets = make(NEW);
  const secretOf = (account: string, member: string) => secrets.playgroundKey({ account, member }).secret;
  expect(hasKeyForm(secretOf('acc_1', 'mem_1'), ['mgw_live_'])).toBe(true);
  expect(secretOf('acc_1', 'mem_1')).toBe(secretOf('acc_1', 'mem_1'));
  expect(new Set([secretOf('acc_1', 'mem_1'), secretOf('acc_1', 'mem_2'), secretOf('acc_2', 'mem_1')]).size).toBe(3);
});
