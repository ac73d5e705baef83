import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { temporaryDirectory } from '@gateway/testkit';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTokenEndpoint, type TokenEndpoint } from '../../test/token-endpoint.js';
import { TokenConnections } from './token-http.js';
import { makeEntraFetcher } from './entra.js';

const SCOPE = 'https://cognitiveservices.azure.com/.default';
const http = new TokenConnections({ privateAllowed: true });
const directory = temporaryDirectory('entra');
let endpoint: TokenEndpoint;
beforeAll(async () => void (endpoint = await startTokenEndpoint()));
afterAll(async () => {
  directory.remove();
  await endpoint.stop();
});

test('entraTokens() requests a token with client credentials', async () => {
  const text = JSON.stringify({ tenantId: 't', clientId: 'c', clientSecret: 's', authorityHost: `${endpoint.url}/` });
  const issued = await makeEntraFetcher(SCOPE, text, { http, env: {}, nowMs: () => 5 })();
  expect(issued).toEqual({ value: 'token-1', expiresAtMs: 5 + 3_600_000 });
  const { path, body } = endpoint.asked.at(-1) ?? {};
  expect(path).toBe('/t/oauth2/v2.0/token');
  expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
    grant_type: 'client_credentials',
    client_id: 'c',
    client_secret: 's',
    scope: SCOPE,
  });
});

test('entraTokens() reads the workload identity file again for each token', async () => {
  const file = join(directory.path, 'token');
  const env = {
    AZURE_TENANT_ID: 't',
    AZURE_CLIENT_ID: 'c',
    AZURE_FEDERATED_TOKEN_FILE: file,
    AZURE_AUTHORITY_HOST: endpoint.url,
  };
  const fetchToken = makeEntraFetcher(SCOPE, null, { http, env, nowMs: () => 5 });
  for (const assertion of ['first', 'second']) {
    await writeFile(file, `${assertion}\n`);
    await fetchToken();
    const form = new URLSearchParams(endpoint.asked.at(-1)?.body);
    expect(form.get('client_assertion')).toBe(assertion);
    expect(form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  }
  const { AZURE_CLIENT_ID: _, ...incomplete } = env;
  expect(() => makeEntraFetcher(SCOPE, null, { http, env: incomplete, nowMs: () => 5 })).toThrow('AZURE_CLIENT_ID');
});

test('entraTokens() reports only the error code of the endpoint', async () => {
  endpoint.answers = 'fail';
  const text = JSON.stringify({ tenantId: 't', clientId: 'c', clientSecret: 's', authorityHost: endpoint.url });
  const failing = makeEntraFetcher(SCOPE, text, { http, env: {}, nowMs: () => 5 })();
  await expect(failing).rejects.toThrow(/^the token endpoint returned 500 temporarily_unavailable$/);
});

test('entraTokens() rejects plain HTTP to public hosts and disallowed private hosts', async () => {
  const at = (authorityHost: string): string =>
    JSON.stringify({ tenantId: 't', clientId: 'c', clientSecret: 's', authorityHost });
  const closed = new TokenConnections({ privateAllowed: false });
  const asked = endpoint.asked.length;
  await expect(makeEntraFetcher(SCOPE, at(endpoint.url), { http: closed, env: {}, nowMs: () => 5 })()).rejects.toThrow(
    'private address 127.0.0.1',
  );
  await expect(
    makeEntraFetcher(SCOPE, at('http://login.example'), { http, env: {}, nowMs: () => 5 })(),
  ).rejects.toThrow('must use https');
  expect(endpoint.asked).toHaveLength(asked);
});
