// Digests of the images in images.yaml, read over the registry API of the OCI distribution
// specification.
import { createHash } from 'node:crypto';

const TIMEOUT_MS = 30_000;
const IMAGE = /(image: (?:&\w+ )?)([^\s}]+)/g;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/**
 * Returns the text of images.yaml with the current digest of every image.
 * @throws Error if one digest cannot be read, with all causes
 */
export async function pinImages(text) {
  const images = [...text.matchAll(IMAGE)].map(([, , image]) => image);
  const read = await Promise.allSettled(images.map(readDigest));
  const failed = read.flatMap(({ reason }, at) =>
    reason ? [`${images[at]}: ${reason.cause?.message || reason.message}`] : [],
  );
  if (failed.length > 0) throw new Error(failed.join('\n'));
  const digests = read.map(({ value }) => value);
  return text.replace(IMAGE, (_, before, image) => `${before}${image.split('@')[0]}@${digests.shift()}`);
}

/** Parses an image name with docker's defaults: `redis:7.4.11` is library/redis of Docker Hub. */
export function parseReference(image) {
  const [name] = image.split('@');
  const [, first, rest] = /^([^/]*[.:][^/]*|localhost)\/(.+)$/.exec(name) ?? [null, 'docker.io', name];
  const [, path, tag = 'latest'] = /^(.+?)(?::([^/:]+))?$/.exec(rest);
  const registry = first === 'docker.io' ? 'registry-1.docker.io' : first;
  return { registry, path: first === 'docker.io' && !path.includes('/') ? `library/${path}` : path, tag };
}

async function readDigest(image) {
  const { registry, path, tag } = parseReference(image);
  const scheme = /^(localhost|127\.|\[::1\])/.test(registry) ? 'http' : 'https';
  const url = `${scheme}://${registry}/v2/${path}/manifests/${tag}`;
  let response = await send(url, 'HEAD');
  let headers = {};
  if (response.status === 401) {
    headers = { authorization: `Bearer ${await readToken(response.headers.get('www-authenticate') ?? '')}` };
    response = await send(url, 'HEAD', headers);
  }
  if (!response.ok) throw new Error(`the registry responded with ${response.status}`);
  let digest = response.headers.get('docker-content-digest');
  // The header is optional. The digest is that of the manifest's bytes.
  if (digest === null) {
    const manifest = await send(url, 'GET', headers);
    if (!manifest.ok) throw new Error(`the registry responded with ${manifest.status}`);
    digest = `sha256:${createHash('sha256')
      .update(Buffer.from(await manifest.arrayBuffer()))
      .digest('hex')}`;
  }
  if (!DIGEST.test(digest)) throw new Error(`the registry sent an invalid digest: ${digest}`);
  return digest;
}

/** Requests an anonymous token from the server that the challenge names. */
async function readToken(challenge) {
  const { realm, ...query } = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  if (!/^Bearer /i.test(challenge) || realm === undefined) throw new Error('the registry requires a sign-in');
  const response = await fetch(`${realm}?${new URLSearchParams(query)}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${realm} responded with ${response.status}`);
  const { token, access_token: accessToken } = await response.json();
  return token ?? accessToken;
}

function send(url, method, headers = {}) {
  return fetch(url, { method, headers: { accept: MANIFESTS, ...headers }, signal: AbortSignal.timeout(TIMEOUT_MS) });
}
