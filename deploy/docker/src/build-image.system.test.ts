import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
