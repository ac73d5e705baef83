import { expect, test } from '@jest/globals';
import { AUTHOR } from '../../test/operator-client.js';
import { createAccount } from './create-account.js';

test('createAccount() refuses a team account before any write if teams are disabled', async () => {
  const store = { change: () => Promise.reject(new Error('the store was asked')) };
  const deps = { store, makeId: () => 'none', teamsEnabled: false };
  const spec = { name: 'A team', email: 'team@example.com', emailVerified: true, type: 'team' as const };
  expect(await createAccount(deps, { spec, author: AUTHOR })).toMatchObject({
    refused: { code: 'invalid_request', param: 'type' },
  });
  await expect(createAccount(deps, { spec: { ...spec, type: 'personal' }, author: AUTHOR })).rejects.toThrow('asked');
});
