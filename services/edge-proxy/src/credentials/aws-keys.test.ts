import { afterAll, afterEach, expect, test } from '@jest/globals';
import { temporaryDirectory } from '@gateway/testkit';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTokenEndpoint } from '../../test/token-endpoint.js';
import { TokenConnections } from './token-http.js';
import type { TokenHttp } from '../ports.js';
import { fetchAwsKeys } from './aws-keys.js';

const EXPIRATION = '2030-01-01T00:00:00Z';
const http = new TokenConnections({ privateAllowed: true });
const directory = temporaryDirectory('aws');
const names = new Set<string>();
afterEach(() => {
  for (const name of names) delete process.env[name];
});
afterAll(() => directory.remove());

/** Sets the environment of one cloud machine and hides that of this machine. */
function surroundings(env: Readonly<Record<string, string>>): () => ReturnType<ReturnType<typeof fetchAwsKeys>> {
  const none = {
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  for (const [name, value] of Object.entries({ ...none, ...env })) {
    names.add(name);
    process.env[name] = value;
  }
  return fetchAwsKeys('eu-west-1', { http, env: process.env });
}

test('awsSurroundings() reads keys from environment variables', async () => {
  const fetchKeys = surroundings({ AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' });
  expect(await fetchKeys()).toEqual({
    value: { accessKeyId: 'AKID', secretAccessKey: 'secret' },
    expiresAtMs: null,
  });
});

test('awsSurroundings() exchanges the web identity token (IRSA), read again each time', async () => {
  const sts = await startTokenEndpoint(
    (token) => `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AKID</AccessKeyId>
      <SecretAccessKey>secret</SecretAccessKey><SessionToken>${token}</SessionToken>
      <Expiration>${EXPIRATION}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
      </AssumeRoleWithWebIdentityResponse>`,
  );
  const file = join(directory.path, 'token');
  const fetchKeys = surroundings({
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/edge',
    AWS_WEB_IDENTITY_TOKEN_FILE: file,
    AWS_ENDPOINT_URL_STS: sts.url,
  });
  try {
    for (const identity of ['first', 'second']) {
      writeFileSync(file, identity);
      const { value, expiresAtMs } = await fetchKeys();
      expect(value).toMatchObject({ accessKeyId: 'AKID', secretAccessKey: 'secret' });
      expect(expiresAtMs).toBe(Date.parse(EXPIRATION));
      const form = new URLSearchParams(sts.asked.at(-1)?.body);
      expect([form.get('Action'), form.get('WebIdentityToken')]).toEqual(['AssumeRoleWithWebIdentity', identity]);
    }
    expect(sts.asked).toHaveLength(2);
    const closed = new TokenConnections({ privateAllowed: false });
    const refused = fetchAwsKeys('eu-west-1', { http: closed, env: process.env })();
    await expect(refused).rejects.toThrow('private address 127.0.0.1');
  } finally {
    await sts.stop();
  }
});

test('awsSurroundings() requests keys from the container agent (EKS Pod Identity)', async () => {
  const agent = await startTokenEndpoint((Token) => ({
    AccessKeyId: 'AKID',
    SecretAccessKey: 'secret',
    Token,
    Expiration: EXPIRATION,
  }));
  const file = join(directory.path, 'pod-token');
  writeFileSync(file, 'pod');
  const fetchKeys = surroundings({
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${agent.url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
  });
  try {
    const { value, expiresAtMs } = await fetchKeys();
    expect([value.sessionToken, expiresAtMs]).toEqual(['token-1', Date.parse(EXPIRATION)]);
    expect(agent.asked).toMatchObject([{ path: '/v1/credentials', headers: { authorization: 'pod' } }]);
  } finally {
    await agent.stop();
  }
});

test('awsSurroundings() requests keys from instance metadata', async () => {
  const imds = await startTokenEndpoint((Token, _lifeS, { path }) => {
    if (path.endsWith('/api/token')) return 'session';
    if (path.endsWith('/security-credentials/')) return 'role';
    return { Code: 'Success', AccessKeyId: 'AKID', SecretAccessKey: 'secret', Token, Expiration: EXPIRATION };
  });
  const fetchKeys = surroundings({
    AWS_EC2_METADATA_SERVICE_ENDPOINT: imds.url,
    AWS_EC2_METADATA_DISABLED: 'false',
  });
  try {
    expect((await fetchKeys()).value).toMatchObject({ accessKeyId: 'AKID', secretAccessKey: 'secret' });
    expect(imds.asked.map(({ method }) => method)).toEqual(['PUT', 'GET', 'GET']);
  } finally {
    await imds.stop();
  }
});

test('awsSurroundings() fails without quoting any text when there are no keys', async () => {
  const fetchKeys = surroundings({});
  await expect(fetchKeys()).rejects.toThrow(/^the AWS credential chain has no credential: \w+$/);
});

test('awsSurroundings() reads shared files again, also ones that appear later', async () => {
  const file = join(directory.path, 'credentials');
  const fetchKeys = surroundings({ AWS_SHARED_CREDENTIALS_FILE: file });
  await expect(fetchKeys()).rejects.toThrow('the AWS credential chain has no credential');
  for (const id of ['FIRST', 'SECOND']) {
    writeFileSync(file, `[default]\naws_access_key_id = ${id}\naws_secret_access_key = secret\n`);
    expect((await fetchKeys()).value.accessKeyId).toBe(id);
  }
});

test('awsSurroundings() requests single sign-on keys in the region of the profile', async () => {
  const config = join(directory.path, 'config');
  const home = join(directory.path, 'home');
  const start = 'https://example.awsapps.com/start';
  writeFileSync(
    config,
    `[default]\nsso_start_url = ${start}\nsso_region = us-west-2\nsso_account_id = 123456789012\nsso_role_name = edge role\n`,
  );
  const cache = join(home, '.aws', 'sso', 'cache');
  mkdirSync(cache, { recursive: true });
  writeFileSync(
    join(cache, `${createHash('sha1').update(start).digest('hex')}.json`),
    JSON.stringify({ startUrl: start, region: 'us-west-2', accessToken: 'token', expiresAt: '2099-01-01T00:00:00Z' }),
  );
  const asked: string[] = [];
  surroundings({ AWS_CONFIG_FILE: config, HOME: home });
  const keys = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' };
  const roleCredentials = { ...keys, expiration: Date.parse(EXPIRATION) };
  const answering: TokenHttp = {
    ask: ({ url }) => {
      asked.push(url);
      const headers = { 'content-type': 'application/json' };
      return Promise.resolve({ status: 200, headers, body: JSON.stringify({ roleCredentials }) });
    },
  };
  const { value } = await fetchAwsKeys('eu-west-1', { http: answering, env: process.env })();
  expect(value.accessKeyId).toBe('AKID');
  expect(asked).toEqual([
    'https://portal.sso.us-west-2.amazonaws.com/federation/credentials?role_name=edge+role&account_id=123456789012',
  ]);
});
