import { expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isSigned } from '../../test/sigv4-server.js';
import { makeFixedKeys, RequestSigner } from './request-signer.js';
import { signRequest } from './sign-request.js';

interface Vector {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  readonly region: string;
  readonly service: string;
  readonly time: string;
  readonly expectedAuthorization: string;
}

/** Test vectors published by AWS. */
const VECTORS = JSON.parse(
  readFileSync(new URL('../../test/sigv4-vectors.json', import.meta.url), 'utf8'),
) as readonly Vector[];

test.each(VECTORS)('signRequest() matches the published vector $name', async (vector) => {
  const { method, url, body, region, service, credentials, time } = vector;
  const { origin, pathname, search } = new URL(url);
  const own = Object.entries(vector.headers).filter(([name]) => !SET_BY_SIGNER.has(name.toLowerCase()));
  const headers = Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value]));
  const request = { method, origin, path: pathname + search, headers, body };
  const signed = headersOf(await signRequest(request, { region, service }, credentials, Date.parse(time)));
  expect(signed['authorization']).toBe(vector.expectedAuthorization);
  expect(signed['x-amz-security-token']).toBe(credentials.sessionToken);
});

const SET_BY_SIGNER: ReadonlySet<string> = new Set(['host', 'x-amz-date', 'x-amz-security-token']);

const KEYS = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' };

test.each([
  { name: 'a small body', bytes: 100 },
  { name: 'a body that is hashed in several ticks', bytes: 3 * 1024 * 1024 },
])('the signature covers all parts of $name as they are sent', async ({ bytes }) => {
  const signer = new RequestSigner({ service: 'bedrock', region: 'eu-west-1' }, makeFixedKeys(KEYS), () => 1_000_000);
  const body = [Buffer.from('{"model":'), Buffer.from('"up"'), Buffer.from(`,"x":"${'y'.repeat(bytes)}"}`)];
  const path = '/model/up%3A0/invoke';
  const headers = ['content-type', 'application/json', 'user-agent', 'model-gateway/1'];
  const made = await signer.headersFor({ origin: 'http://127.0.0.1:8080', path, headers, body });
  const sent = { ...headersOf(headers), ...headersOf(made.headers), host: '127.0.0.1:8080' };
  const request = { method: 'POST', path, headers: sent, body: Buffer.concat(body).toString() };
  expect(isSigned(request, secretOf)).toBe(true);
  expect(sent).toMatchObject({ 'x-amz-security-token': 'session', 'x-amz-content-sha256': sha256(request.body) });
  expect(isSigned({ ...request, path: '/model/other/invoke' }, secretOf)).toBe(false);
  expect(isSigned({ ...request, body: '{}' }, secretOf)).toBe(false);
  expect(signer.mayReplace(made.version)).toBe(false);
});

const secretOf = (accessKeyId: string): string | undefined => (accessKeyId === 'AKID' ? 'secret' : undefined);

function headersOf(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at < list.length; at += 2) headers[list[at] as string] = list[at + 1] as string;
  return headers;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
