import { expect, test } from '@jest/globals';
import type { Authorizer } from '../ports.js';
import { SharedAuthorizers } from './shared-authorizers.js';

const AUTH = { type: 'entra', scope: 'scope' } as const;

function made(): { readonly shared: SharedAuthorizers; readonly texts: (string | null)[] } {
  const texts: (string | null)[] = [];
  const shared = new SharedAuthorizers(
    (_auth, credential): Authorizer => {
      texts.push(credential);
      return {
        kind: 'token',
        headersFor: () => ({ headers: [], version: 1 }),
        mayReplace: () => false,
        judged: () => undefined,
      };
    },
    () => 0,
  );
  return { shared, texts };
}

test('sources share an authorizer only if credential and scope are equal', () => {
  const { shared, texts } = made();
  const one = shared.acquire(AUTH, 'text');
  expect(shared.acquire({ scope: 'scope', type: 'entra' }, 'text')).toBe(one);
  expect(shared.acquire({ ...AUTH, scope: 'other' }, 'text')).not.toBe(one);
  expect(shared.acquire(AUTH, 'other')).not.toBe(one);
  expect(shared.acquire(AUTH, null)).not.toBe(one);
  expect(texts).toEqual(['text', 'text', 'other', null]);
});

test('a fixed key has no authorizer, and each source has its own for a key list', () => {
  const { shared, texts } = made();
  expect(shared.acquire({ type: 'bearer' }, 'key')).toBeNull();
  expect(shared.acquire({ type: 'bearer' }, null)).toBeNull();
  const list = shared.acquire({ type: 'bearer' }, '["a","b"]');
  expect(list?.kind).toBe('keys');
  expect(shared.acquire({ type: 'bearer' }, '["a","b"]')).not.toBe(list);
  expect(texts).toEqual([]);
});

test('an authorizer is dropped when its last source releases it', () => {
  const { shared } = made();
  const one = shared.acquire(AUTH, 'text');
  shared.acquire(AUTH, 'text');
  if (one === null) throw new Error('it needs one');
  shared.release(one);
  expect(shared.acquire(AUTH, 'text')).toBe(one);
  shared.release(one);
  shared.release(one);
  expect(shared.acquire(AUTH, 'text')).not.toBe(one);
});
