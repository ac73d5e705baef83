import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { temporaryDirectory } from '@gateway/testkit';
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTokenEndpoint, type TokenEndpoint } from '../../test/token-endpoint.js';
import { TokenConnections } from './token-http.js';
import { makeGoogleFetcher, usesEnvironment } from './google.js';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const parts = { http: new TokenConnections({ privateAllowed: true }), env: {}, nowMs: () => Date.now() };
const directory = temporaryDirectory('google');
let endpoint: TokenEndpoint;
beforeAll(async () => void (endpoint = await startTokenEndpoint()));
afterAll(async () => {
  directory.remove();
  await endpoint.stop();
});

test('a service account sends a signed assertion to the address in its file', async () => {
  const tokenUri = `${endpoint.url}/token`;
  const file = {
    type: 'service_account',
    client_email: 'robot@project.example',
    private_key: privateKey,
    token_uri: tokenUri,
  };
  expect(usesEnvironment(JSON.stringify(file))).toBe(false);
  const { value, expiresAtMs } = await makeGoogleFetcher(SCOPE, JSON.stringify(file), parts)();
  expect(value).toBe('token-1');
  expect(Math.abs((expiresAtMs ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);
  const { path, body } = endpoint.asked.at(-1) ?? {};
  expect(path).toBe('/token');
  const form = new URLSearchParams(body);
  expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
  const [head = '', claims = '', signature = ''] = form.get('assertion')?.split('.') ?? [];
  expect(createVerify('sha256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')).toBe(true);
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    iss: 'robot@project.example',
    scope: SCOPE,
    aud: tokenUri,
  });
});

test("federation exchanges the subject token file, read again, at the file's address", async () => {
  const subject = join(directory.path, 'subject');
  writeFileSync(subject, 'subject-1');
  const text = JSON.stringify(externalAccount(subject));
  expect(usesEnvironment(text)).toBe(true);
  const { value } = await makeGoogleFetcher(SCOPE, text, parts)();
  expect(value).toMatch(/^token-/);
  const form = new URLSearchParams(endpoint.asked.at(-1)?.body);
  expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:token-exchange');
  expect([form.get('subject_token'), form.get('scope')]).toEqual(['subject-1', SCOPE]);
});

test("without a credential the environment's file or the metadata server is used", async () => {
  const subject = join(directory.path, 'subject');
  const file = join(directory.path, 'adc.json');
  writeFileSync(file, JSON.stringify(externalAccount(subject)));
  const before = endpoint.asked.length;
  await makeGoogleFetcher(SCOPE, null, { ...parts, env: { GOOGLE_APPLICATION_CREDENTIALS: file } })();
  expect(endpoint.asked[before]?.body).toContain('subject_token=subject-1');
  // The library reads this variable itself.
  process.env['GCE_METADATA_HOST'] = endpoint.url.replace('http://', '');
  try {
    const { value } = await makeGoogleFetcher(SCOPE, null, parts)();
    expect(value).toMatch(/^token-/);
    expect(endpoint.asked.at(-1)?.path).toContain('/computeMetadata/v1/instance/service-accounts/default/token');
  } finally {
    delete process.env['GCE_METADATA_HOST'];
  }
});

test('an endpoint error is reported by its status, a forbidden address by its reason', async () => {
  endpoint.answers = 'fail';
  const file = {
    type: 'service_account',
    client_email: 'robot@project.example',
    private_key: privateKey,
    token_uri: endpoint.url,
  };
  const closed = { ...parts, http: new TokenConnections({ privateAllowed: false }) };
  await expect(makeGoogleFetcher(SCOPE, JSON.stringify(file), closed)()).rejects.toThrow(
    /^private address 127\.0\.0\.1$/,
  );
  const failing = makeGoogleFetcher(SCOPE, JSON.stringify(file), parts)();
  await expect(failing).rejects.toThrow(/^no Google token: its endpoint returned 500$/);
});

function externalAccount(file: string): object {
  return {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${endpoint.url}/v1/token`,
    credential_source: { file },
  };
}
