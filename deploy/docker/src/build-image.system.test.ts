import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findEngine } from '../engine.mjs';
import { contentsOf, IMAGES, ROOT, readImages } from '../recipe.mjs';

/** A package with a dependency that another dependency needs in another version. */
const NAME = 'catalog';
const TAG = `test-${process.pid}`;
const IMAGE = `gateway/${NAME}:${TAG}`;
const BUILD_MS_MAX = 900_000;

const { node = '', postgres = '' } = readImages();
const found = findEngine(process.env['GATEWAY_ENGINE']);
const engine = found?.has(node) === true && found.has(postgres) ? found : null;
const testWithEngine = engine === null ? test.skip : test;

let staged: string;
let built: string;
beforeAll(() => {
  staged = mkdtempSync(join(tmpdir(), 'gateway-images-'));
  run(['deploy/docker/stage-images.mjs', staged, '--no-sbom', 'operate']);
  // GATEWAY_BUILD_OPTIONS: what this machine needs to fetch packages, e.g. `--network host`.
  const options = process.env['GATEWAY_BUILD_OPTIONS']?.split(' ') ?? [];
  if (engine !== null)
    built = run(['deploy/docker/images.mjs', NAME, '--engine', engine.name, '--tag', TAG, ...options]);
}, BUILD_MS_MAX);
afterAll(() => {
  rmSync(staged, { recursive: true, force: true });
  engine?.read(['rmi', IMAGE]);
});

function run(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error((stdout + stderr).slice(-4_000));
  return stdout;
}

testWithEngine('npm run images prints size and digest (needs an engine and the base images)', () => {
  expect(built).toMatch(new RegExp(`^gateway/${NAME}:${TAG} +\\d+\\.\\d MB +(ID )?sha256:[0-9a-f]{64}`, 'm'));
});

testWithEngine('the built image has an SBOM of all packages, and nothing to install with', () => {
  const { components } = JSON.parse(engine?.output(IMAGE, ['cat', '/app/sbom.cdx.json']) ?? '') as {
    components: object[];
  };
  const { packages, modules } = contentsOf(IMAGES[NAME]?.rooms ?? []);
  expect(components).toHaveLength(packages.length + modules.length);
  expect(components).toContainEqual(expect.objectContaining({ name: 'ipaddr.js', version: '2.5.0' }));
  expect(engine?.output(IMAGE, ['sh', '-c', 'command -v npm npx yarn corepack; echo none'])).toBe('none\n');
});

testWithEngine("the built image's program starts and names missing settings", () => {
  expect(engine?.output(IMAGE, ['node', '/app/main.mjs'])).toMatch(/GATEWAY_NATS_URL/);
});

test('every command of operate starts from the files of its image', () => {
  const commands = Object.keys(IMAGES['operate']?.commands ?? {});
  const printed = commands.map((command) => {
    const options = { cwd: join(staged, 'operate'), env: {}, input: '', encoding: 'utf8' as const };
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['main.mjs', command], options);
    return { command, status, signal, text: stdout + stderr };
  });
  // Each names what it lacks. Node ends with 1 and a stack if a file is missing.
  for (const { command, signal, text } of printed) {
    expect([command, signal, text]).toEqual([
      command,
      null,
      expect.stringMatching(/GATEWAY_\w+|usage: |missing: |name the server/),
    ]);
    expect(text).not.toMatch(/ERR_MODULE_NOT_FOUND|ENOENT|^ {4}at /m);
  }
  expect(printed.filter(({ status }) => status === 0)).toEqual([]);
  expect(readdirSync(join(staged, 'operate/services/billing'))).not.toContain('src');
}, 120_000);

const MANIFEST = '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}';
const testWithSkopeo = spawnSync('skopeo', ['--version']).status === 0 ? test : test.skip;

testWithSkopeo(
  'pinImages() writes every digest, also over an older one, or fails (needs skopeo)',
  async () => {
    /** A registry that requires a token for everything. */
    const registry = createServer(({ url = '', headers }, response) => {
      const challenge = `Bearer realm="http://${headers.host}/token",service="registry"`;
      if (url.startsWith('/token')) response.end('{"token":"t"}');
      else if (headers.authorization !== 'Bearer t') response.writeHead(401, { 'www-authenticate': challenge }).end();
      else if (!/^\/v2\/project\/(one|other)\/manifests\/1\.2\.3$/.test(url)) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': 'application/vnd.oci.image.index.v1+json' }).end(MANIFEST);
    });
    await once(registry.listen(0, '127.0.0.1'), 'listening');
    const place = `127.0.0.1:${(registry.address() as AddressInfo).port}/project`;
    const digest = `@sha256:${createHash('sha256').update(MANIFEST).digest('hex')}`;
    const yamlOf = (first: string, second: string) =>
      `  a: { image: &node ${place}/${first} }\n  b:\n    image: ${place}/${second}\n`;
    // In another process, because it waits for skopeo, which this process answers.
    const pin = async (text: string) => {
      const code = `import { pinImages } from './deploy/docker/recipe.mjs'; process.stdout.write(pinImages(process.argv[1]))`;
      return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code, text], { cwd: ROOT }))
        .stdout;
    };
    try {
      const pinned = await pin(yamlOf('one:1.2.3', `other:1.2.3@sha256:${'0'.repeat(64)}`));
      expect(pinned).toBe(yamlOf(`one:1.2.3${digest}`, `other:1.2.3${digest}`));
      await expect(pin(yamlOf('one:9', 'missing:1.2.3'))).rejects.toThrow(
        /project\/one:9: .*[^]*project\/missing:1\.2\.3: /,
      );
    } finally {
      registry.close();
    }
  },
  60_000,
);
