import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { parseReference, pinImages } from '../pin.mjs';

const MANIFEST = '{"schemaVersion":2}';
const DIGEST = `sha256:${createHash('sha256').update(MANIFEST).digest('hex')}`;
const OTHER = `sha256:${'0'.repeat(64)}`;

let port = 0;
let requests: string[] = [];
/**
 * A registry. `open` sends the digest, `silent` only the manifest; `closed` requires a token, and
 * `strange` sends another digest.
 */
const server = createServer(({ method, url = '', headers }, response) => {
  requests.push(`${method} ${url}`);
  const [, name] = /^\/v2\/project\/(\w+)\/manifests\/1\.2\.3$/.exec(url) ?? [];
  if (url.startsWith('/token?')) {
    const query = new URLSearchParams(url.slice('/token?'.length));
    response.end(JSON.stringify({ token: `${query.get('service')} ${query.get('scope')}` }));
  } else if (name === 'closed' && headers.authorization !== 'Bearer registry repository:project/closed:pull') {
    const realm = `http://127.0.0.1:${port}/token`;
    const challenge = `Bearer realm="${realm}",service="registry",scope="repository:project/closed:pull"`;
    response.writeHead(401, { 'www-authenticate': challenge }).end();
  } else if (name === 'missing' || name === undefined) response.writeHead(404).end();
  else if (!headers.accept?.includes('application/vnd.oci.image.index.v1+json')) response.writeHead(406).end();
  else {
    if (name !== 'silent') response.setHeader('docker-content-digest', name === 'strange' ? 'md5:0' : DIGEST);
    response.end(method === 'GET' ? MANIFEST : undefined);
  }
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());
beforeEach(() => {
  requests = [];
});

const yamlOf = (...images: string[]): string =>
  images
    .map((image, at) => `  s${at}: { image: ${at === 0 ? '&node ' : ''}127.0.0.1:${port}/project/${image} }\n`)
    .join('');

test('pinImages() writes the digest of each image, also over an older one', async () => {
  const text = yamlOf('open:1.2.3', `silent:1.2.3@${OTHER}`, 'closed:1.2.3');
  expect(await pinImages(text)).toBe(
    yamlOf(`open:1.2.3@${DIGEST}`, `silent:1.2.3@${DIGEST}`, `closed:1.2.3@${DIGEST}`),
  );
  expect(requests).toContain('GET /token?service=registry&scope=repository%3Aproject%2Fclosed%3Apull');
  // The digest comes from the header, if there is one.
  expect(requests).not.toContain('GET /v2/project/open/manifests/1.2.3');
});

test('pinImages() fails with every image that it cannot read', async () => {
  const failed = pinImages(yamlOf('open:1.2.3', 'missing:1.2.3', 'strange:1.2.3', 'open:9'));
  const error = await failed.catch((one: Error) => one.message.split('\n'));
  expect(error).toEqual([
    expect.stringMatching(/missing:1.2.3: the registry responded with 404$/),
    expect.stringMatching(/strange:1.2.3: the registry sent an invalid digest: md5:0$/),
    expect.stringMatching(/open:9: the registry responded with 404$/),
  ]);
});

test.each([
  ['redis:7.4.11', 'registry-1.docker.io', 'library/redis', '7.4.11'],
  ['docker.io/library/redis:7.4.11@sha256:0', 'registry-1.docker.io', 'library/redis', '7.4.11'],
  ['prom/prometheus:v3.5.5', 'registry-1.docker.io', 'prom/prometheus', 'v3.5.5'],
  ['registry.example.com/a/b/c', 'registry.example.com', 'a/b/c', 'latest'],
  ['localhost:5000/node:24', 'localhost:5000', 'node', '24'],
])('parseReference() reads %s', (image, registry, path, tag) => {
  expect(parseReference(image)).toEqual({ registry, path, tag });
});
