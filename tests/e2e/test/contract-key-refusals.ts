import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import { until } from '@gateway/testkit';
import { makeCall } from './contract-situation.js';
import type { ErrorSituation } from './contract-situation.js';

const unauthenticated = { status: 401, type: 'authentication_error', messagesType: 'authentication_error' };
const forbidden = { status: 403, type: 'permission_denied_error', messagesType: 'permission_error' };

/** Refusals because of the key, or because the key may not use the model. */
export const KEY_REFUSALS: readonly ErrorSituation[] = [
  {
    expected: { ...unauthenticated, code: 'missing_api_key' },
    arrange: async ({ model }) => makeCall(null, model.id),
  },
  {
    expected: { ...unauthenticated, code: 'invalid_api_key' },
    what: 'never issued',
    arrange: async ({ model }) => makeCall(makeSecret(DEFAULT_KEY_PREFIX), model.id),
  },
  {
    expected: { ...unauthenticated, code: 'invalid_api_key' },
    what: 'rotated away',
    arrange: async (world) => {
      const { key, secret } = await world.operator.account('1.00');
      await world.operator.rotate(key);
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...forbidden, code: 'key_inactive' },
    what: 'revoked',
    arrange: async (world) => {
      const { key, secret } = await world.operator.account('1.00');
      await world.operator.setKey(key, 'revoke');
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...forbidden, code: 'key_inactive' },
    what: 'suspended',
    arrange: async (world) => {
      const { key, secret } = await world.operator.account('1.00');
      await world.operator.setKey(key, 'suspend');
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...forbidden, code: 'key_expired' },
    arrange: async (world) => {
      const { account } = await world.operator.account('1.00');
      let expiresAtMs = 0;
      // Creates the key again if its expiry had already passed and was refused.
      const { secret } = await until('the key is made before it expires', async () => {
        expiresAtMs = Date.now() + 1_500;
        const expiresAt = new Date(expiresAtMs).toISOString();
        const path = `/accounts/${account}/keys`;
        const { status, body } = await world.operator.request('POST', path, { name: 'contract', expiresAt });
        if (status !== 400 && status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
        return status === 201 && (body as { secret: string });
      });
      await until('the key has expired', () => Date.now() > expiresAtMs + 50);
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...forbidden, code: 'account_suspended' },
    arrange: async (world) => {
      const { account, secret } = await world.operator.account('1.00');
      await world.operator.setAccount(account, 'suspend');
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...forbidden, code: 'model_not_allowed_on_key', param: 'model', message: /contract\/[0-9a-f]{12}/ },
    arrange: async (world) => {
      const other = await world.makeModel();
      const { secret } = await world.operator.account('1.00', { allowedModels: [other.id] });
      return makeCall(secret, world.model.id);
    },
  },
];
