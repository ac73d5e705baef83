import { afterAll, afterEach, expect, test } from '@jest/globals';
import { temporaryDirectory } from '@gateway/testkit';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTokenEndpoint } from '../../test/token-endpoint.js';
import { TokenConnections } from '../adapters/token-http.js';
import { awsSurroundings } from './aws-keys.js';

const EXPIRATION = '2030-01-01T00:00:00Z';
const http = new TokenConnections({ privateAllowed: true });
const directory = temporaryDirectory('aws');
const names = new Set<string>();
afterEach(() => {
  for (const name of names) delete process.env[name];
});
afterAll(() => directory.remove());

/** The surroundings of one cloud machine: nothing of this one is read. */
function surroundings(env: Readonly<Record<string, string>>): () => ReturnType<ReturnType<typeof awsSurroundings>> {
  const none = {
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  for (const [name, value] of Object.entries({ ...none, ...env })) {
    names.add(name);
    process.env[name] = value;
  }
  return awsSurroundings('eu-west-1', { http, env: process.env });
}

test('variables', async () => {
  const fetchKeys = surroundings({ AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' });
  expect(await fetchKeys()).toEqual({
    value: { accessKeyId: 'AKID', secretAccessKey: 'secret' },
    expiresAtMs: null,
  });
});

test('web identity (IRSA): the role of the token in the file, which is read anew', async () => {
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
    const refused = awsSurroundings('eu-west-1', { http: closed, env: process.env })();
    await expect(refused).rejects.toThrow('private address 127.0.0.1');
  } finally {
    await sts.stop();
  }
});

test('container (EKS Pod Identity)', async () => {
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

test('instance metadata', async () => {
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

test('where there is none, the reason quotes nothing', async () => {
  const fetchKeys = surroundings({});
  await expect(fetchKeys()).rejects.toThrow(/^the credential chain of AWS has none: \w+$/);
});
