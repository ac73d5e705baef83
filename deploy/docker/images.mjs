// `npm run images [-- image…]`: builds the images, or the named ones, with docker, podman or
// buildah. README.md describes the options. Exit 1: an error or an image that is too large; 3: no
// engine responds.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findEngine } from './engine.mjs';
import { IMAGES, IMAGES_FILE, ROOT, pinImages, readImages } from './recipe.mjs';

/** Largest compressed size of an image. */
const MAX_BYTES = 260e6;

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: 'string' },
    tag: { type: 'string' },
    repository: { type: 'string', default: 'gateway' },
    'build-arg': { type: 'string', multiple: true, default: [] },
    network: { type: 'string' },
    'no-cache': { type: 'boolean' },
    push: { type: 'string' },
    key: { type: 'string', default: process.env['GATEWAY_COSIGN_KEY'] },
    pin: { type: 'boolean' },
  },
});

try {
  if (given.pin) {
    writeFileSync(IMAGES_FILE, pinImages(readFileSync(IMAGES_FILE, 'utf8')));
    console.log(Object.values(readImages()).join('\n'));
  } else buildAll();
} catch (error) {
  fail(`${error.message}${given.pin ? '\nno digest was written' : ''}`);
}

function buildAll() {
  const unknown = positionals.filter((name) => !(name in IMAGES));
  if (unknown.length > 0) fail(`unknown image: ${unknown.join(', ')}; known images: ${Object.keys(IMAGES).join(', ')}`);
  const engine = findEngine(given.engine);
  if (engine === null) fail(`${given.engine ?? 'docker, podman and buildah'}: no engine responds`, 3);
  const { node, postgres } = readImages();
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const epoch = process.env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct');
  const args = {
    NODE_IMAGE: node,
    POSTGRES_IMAGE: postgres,
    VERSION: version,
    REVISION: git('describe', '--always', '--abbrev=40', '--dirty', '--exclude=*'),
    SOURCE_DATE_EPOCH: epoch,
    ...Object.fromEntries(
      given['build-arg'].map((text) => /^([^=]+)=(.*)$/.exec(text)?.slice(1) ?? fail(`${text} is not NAME=VALUE`)),
    ),
  };
  const results = [];
  for (const [at, name] of (positionals.length > 0 ? positionals : Object.keys(IMAGES)).entries()) {
    const local = `${given.repository}/${name}:${given.tag ?? version}`;
    engine.build({
      file: 'deploy/docker/Dockerfile',
      context: '.',
      target: name,
      tag: local,
      args,
      epoch,
      network: given.network,
      noCache: given['no-cache'] && at === 0,
    });
    results.push({ name: local, ...engine.measure(local), ...publish(engine, local) });
  }
  for (const { name, bytes, digest, state } of results)
    console.log(`${name.padEnd(32)} ${(bytes / 1e6).toFixed(1).padStart(6)} MB  ${digest}  ${state}`);
  const large = results.filter(({ bytes }) => bytes > MAX_BYTES).map(({ name }) => name);
  if (large.length > 0) fail(`larger than ${MAX_BYTES / 1e6} MB: ${large.join(', ')}`);
}

/** Pushes the image if a registry is given, and signs it if a key is given. */
function publish(engine, local) {
  if (given.push === undefined) return { state: '' };
  const target = `${given.push}/${local}`;
  const digest = engine.push(local, target);
  if (given.key === undefined) return { digest, state: 'pushed, not signed: no key (--key or GATEWAY_COSIGN_KEY)' };
  // Not in the public transparency log, which would publish the names of private registries.
  const sign = [
    'sign',
    '--yes',
    '--tlog-upload=false',
    '--key',
    given.key,
    `${target.replace(/:[^:/]+$/, '')}@${digest}`,
  ];
  const { status, error } = spawnSync('cosign', sign, { stdio: ['inherit', 'inherit', 'inherit'] });
  if (status !== 0) fail(`cosign: ${error?.message ?? `ended with ${status}`}`);
  return { digest, state: 'pushed, signed' };
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '0';
}

function fail(message, code = 1) {
  console.error(message);
  process.exit(code);
}
