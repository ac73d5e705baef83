import { expect, test } from '@jest/globals';
import type { SignedAuth } from '../ports.js';
import { makeAuthorizer, type AuthorizerParts } from './make-authorizer.js';

const PARTS: AuthorizerParts = {
  http: { ask: () => Promise.reject(new Error('not asked')) },
  surroundings: [],
  env: {},
  nowMs: () => 0,
  random: () => 0,
  ended: () => undefined,
};
const SIGV4: SignedAuth = { type: 'sigv4', service: 'bedrock', region: 'eu-west-1' };
const GOOGLE: SignedAuth = { type: 'google', scope: 's' };
const ENTRA: SignedAuth = { type: 'entra', scope: 's' };

test.each<[SignedAuth, object, string]>([
  [SIGV4, { accessKeyId: 'AKID-1' }, 'secretAccessKey'],
  [GOOGLE, { type: 'service_account', client_email: 'robot-1' }, 'private_key'],
  [GOOGLE, { type: 'authorized_user', refresh_token: 'robot-1' }, 'type'],
  [ENTRA, { tenantId: 't', clientId: 'robot-1' }, 'clientSecret'],
])("a credential with a missing member is rejected by that member's name: %j", (auth, credential, name) => {
  const make = (): unknown => makeAuthorizer(auth, JSON.stringify(credential), PARTS);
  expect(make).toThrow(name);
  expect(make).not.toThrow(/robot-1|AKID-1/);
});

test('a credential that is not JSON is rejected without quoting it', () => {
  expect(() => makeAuthorizer(ENTRA, 'sk-very-secret', PARTS)).toThrow(
    /^the entra credential is unusable: it is not JSON$/,
  );
});

const FEDERATED = {
  type: 'external_account',
  audience: 'a',
  subject_token_type: 't',
  token_url: 'https://sts.example',
  credential_source: { file: '/etc/passwd' },
};

test.each<[string, SignedAuth, object | null]>([
  ['aws', SIGV4, null],
  ['google', GOOGLE, null],
  ['google', GOOGLE, FEDERATED],
  ['entra', ENTRA, null],
])('a credential from the environment of %s requires the setting', (cloud, auth, credential) => {
  const text = credential === null ? null : JSON.stringify(credential);
  const env = { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c', AZURE_FEDERATED_TOKEN_FILE: '/token' };
  expect(() => makeAuthorizer(auth, text, PARTS)).toThrow(`add ${cloud} to GATEWAY_CLOUD_CREDENTIALS`);
  expect(() => makeAuthorizer(auth, text, { ...PARTS, env, surroundings: [cloud] })).not.toThrow();
});
