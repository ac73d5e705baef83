import { expect, test } from '@jest/globals';
import type { PageRoute, PagesContext } from '../route.js';
import { PEOPLE_ROUTES } from './people.js';

type Handled = Parameters<PageRoute['handle']>[0];

const ORIGIN = { client: '192.0.2.1', agent: 'a browser', requestId: 'r1' };

/** Runs a route with scripted services and passwords. Returns the calls it made, in order. */
async function run(id: string, body: object, answers: Readonly<Record<string, unknown>>, hash = 'a hash') {
  const done: string[] = [];
  const context = {
    settings: { config: { signUpEnabled: true } },
    sessions: { makeSession: () => 's'.repeat(43), digestsOf: () => ['d'.repeat(64)], csrfTokenOf: () => 'csrf' },
    services: {
      request({ name }: { readonly name: string }, asked: object) {
        done.push(`${name} ${JSON.stringify(asked)}`);
        return Promise.resolve(answers[name]);
      },
    },
    passwords: {
      hash(_password: string, client: string) {
        done.push(`hash for ${client}`);
        return Promise.resolve(hash);
      },
    },
  } as unknown as PagesContext;
  const route: PageRoute | undefined = PEOPLE_ROUTES.find((one) => one.id === id);
  const request = { ...context, client: ORIGIN.client, origin: ORIGIN, cookies: { session: null, operator: null } };
  const handled = await route?.handle({ ...request, body } as unknown as Handled);
  return { done, handled };
}

test('signUp sends the origin and no password', async () => {
  const body = { name: 'Ada', email: 'ada@example.com' };
  const { done, handled } = await run('signUp', body, { 'accounts.sign-up': { kind: 'accepted' } });
  expect(handled).toEqual({ status: 202, body: {} });
  expect(done).toEqual([`accounts.sign-up ${JSON.stringify({ ...body, origin: ORIGIN })}`]);
  const throttled = await run('signUp', body, { 'accounts.sign-up': { kind: 'throttled', retryAfterSeconds: 77 } });
  expect(throttled.handled).toMatchObject({ refused: { code: 'too_many_attempts' }, retryAfterSeconds: 77 });
});

const TOKEN = { token: 't'.repeat(43), password: 'a long password' };
const USED = {
  'accounts.find-mail-token': { kind: 'found' },
  'accounts.use-mail-token': { kind: 'used', email: 'ada@example.com' },
  'accounts.find-session': { session: { user: { id: 'usr_1' }, accounts: [] } },
};

test('verifyEmail sets the password and signs the person in', async () => {
  const { done, handled } = await run('verifyEmail', TOKEN, USED);
  expect(handled).toMatchObject({ status: 200, body: { user: { id: 'usr_1' } } });
  expect(handled).toMatchObject({ cookies: [expect.stringContaining('s'.repeat(43))] });
  expect(done.map((one) => one.split(' ')[0])).toEqual([
    'accounts.find-mail-token',
    'hash',
    'accounts.use-mail-token',
    'accounts.find-session',
  ]);
  expect(done[2]).toContain('"passwordHash":"a hash"');
  expect(done[2]).toContain(`"session":"${'d'.repeat(64)}"`);
});

test('an invalid token is not hashed, and no token is used while the queue is full', async () => {
  const invalid = await run('verifyEmail', TOKEN, { 'accounts.find-mail-token': { kind: 'token_invalid' } });
  expect(invalid.handled).toMatchObject({ refused: { code: 'token_invalid' } });
  expect(invalid.done).toHaveLength(1);
  const busy = await run('verifyEmail', TOKEN, USED, 'busy');
  expect(busy.handled).toMatchObject({ refused: { code: 'dependency_unavailable' }, retryAfterSeconds: 1 });
  expect(busy.done).toHaveLength(2);
});
