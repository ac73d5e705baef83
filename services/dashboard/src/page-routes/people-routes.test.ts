import { expect, test } from '@jest/globals';
import type { PagesDoor } from '../page-ports.js';
import type { PageRoute } from '../pages/page-route.js';
import { PEOPLE_ROUTES } from './people-routes.js';

type Handled = Parameters<PageRoute['handle']>[0];

/** A sign-up at a door whose services and passwords answer by script; what was done for it, in order. */
async function signUp(answers: Readonly<Record<string, unknown>>, hash = 'a hash') {
  const done: string[] = [];
  const door = {
    settings: { config: { signUpEnabled: true } },
    services: {
      request({ name }: { readonly name: string }, body: object) {
        done.push(`${name} ${JSON.stringify(body)}`);
        return Promise.resolve(answers[name]);
      },
    },
    passwords: {
      hash(_password: string, client: string) {
        done.push(`hash for ${client}`);
        return Promise.resolve(hash);
      },
    },
  } as unknown as PagesDoor;
  const route: PageRoute | undefined = PEOPLE_ROUTES.find(({ id }) => id === 'signUp');
  const body = { name: 'Ada', email: 'ada@example.com', password: 'a long password' };
  const handled = await route?.handle({ door, client: '192.0.2.1', body } as Handled);
  return { done, handled };
}

const PROCEED = { 'accounts.begin-sign-up': { kind: 'proceed' }, 'accounts.sign-up': { kind: 'accepted' } };
const COUNTED = 'accounts.begin-sign-up {"client":"192.0.2.1"}';

test('an attempt to sign up is counted once, then its password is hashed', async () => {
  const { done, handled } = await signUp(PROCEED);
  expect(handled).toEqual({ status: 202, body: {} });
  const made = 'accounts.sign-up {"name":"Ada","email":"ada@example.com","passwordHash":"a hash"}';
  expect(done).toEqual([COUNTED, 'hash for 192.0.2.1', made]);
});

test('a client that has used up its sign-ups buys no hash', async () => {
  const { done, handled } = await signUp({ 'accounts.begin-sign-up': { kind: 'throttled', retryAfterSeconds: 77 } });
  expect(handled).toMatchObject({ refused: { code: 'too_many_attempts' }, retryAfterSeconds: 77 });
  expect(done).toEqual([COUNTED]);
});

test('nobody is made while too many hashes wait', async () => {
  const { done, handled } = await signUp(PROCEED, 'busy');
  expect(handled).toMatchObject({ refused: { code: 'dependency_unavailable' }, retryAfterSeconds: 1 });
  expect(done).toEqual([COUNTED, 'hash for 192.0.2.1']);
});
