import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { contentsOf } from '../image-contents.mjs';
import { readRecipe } from '../recipe.mjs';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** A package with a dependency that another dependency needs in another version. */
const ROOM = 'services/catalog';
const IMAGE = `localhost/gateway-recipe-test:${process.pid}`;
/** Replaces the recipe's base image on machines without access to its registry. */
const BASE = process.env['NODE_IMAGE'] ?? readRecipe().baseDefault;
const PULL_MS_MAX = 60_000;
const BUILD_MS_MAX = 900_000;

interface Engine {
  readonly name: string;
  /** Fails if the engine does not work here or does not support the recipe. */
  readonly check: readonly string[];
  readonly inspectBase: readonly string[];
  readonly build: readonly string[];
}

const ENGINES: readonly Engine[] = [
  // Without buildx it does not support `RUN --mount`.
  { name: 'docker', check: ['buildx', 'ls'], inspectBase: ['image', 'inspect', BASE], build: ['build'] },
  { name: 'podman', check: ['info'], inspectBase: ['image', 'inspect', BASE], build: ['build'] },
  {
    name: 'buildah',
    check: ['info'],
    inspectBase: ['inspect', '--type', 'image', BASE],
    build: ['build', '--isolation', 'chroot', '--layers'],
  },
];
const engine = ENGINES.find(
  ({ name, check, inspectBase }) =>
    call(name, check).status === 0 &&
    (call(name, inspectBase).status === 0 || call(name, ['pull', BASE], PULL_MS_MAX).status === 0),
);
const testWithEngine = engine === undefined ? test.skip : test;

function call(name: string, args: readonly string[], timeout = BUILD_MS_MAX) {
  return spawnSync(name, args, { cwd: ROOT, encoding: 'utf8', timeout, maxBuffer: 64 * 1024 * 1024 });
}

/** Runs an engine and returns its output on both streams. */
function run(args: readonly string[]): string {
  const { stdout, stderr } = call(engine?.name ?? '', args);
  return stdout + stderr;
}

/** Runs a program in a container of the image and returns its output. */
function inContainer([program = '', ...args]: readonly string[]): string {
  if (engine?.name !== 'buildah') return run(['run', '--rm', '--entrypoint', program, IMAGE, ...args]);
  const container = call('buildah', ['from', '--pull=never', IMAGE]).stdout.trim();
  const printed = run(['run', '--isolation', 'chroot', container, '--', program, ...args]);
  run(['rm', container]);
  return printed;
}

beforeAll(() => {
  if (engine === undefined) return;
  const options = [
    '-f',
    'deploy/docker/Dockerfile',
    '--build-arg',
    `ROOM=${ROOM}`,
    '--build-arg',
    `NODE_IMAGE=${BASE}`,
  ];
  const { status, stderr, stdout } = call(engine.name, [...engine.build, ...options, '-t', IMAGE, '.']);
  if (status !== 0) throw new Error(`${engine.name} does not build the image:\n${(stdout + stderr).slice(-4_000)}`);
}, BUILD_MS_MAX);
afterAll(() => {
  if (engine !== undefined) run(['rmi', IMAGE]);
});

testWithEngine('the built image has an SBOM of all packages (needs docker, podman or buildah)', () => {
  const printed = inContainer(['cat', '/app/sbom.cdx.json']);
  const { components } = JSON.parse(printed) as { components: { name: string; version: string }[] };
  const packages = contentsOf(ROOM).flatMap(({ to }) => /^.*node_modules\/((@[^/]+\/)?[^/]+)/.exec(to)?.[0] ?? []);
  expect(components).toHaveLength(new Set(packages).size);
  expect(components).toContainEqual(expect.objectContaining({ name: 'ipaddr.js', version: '2.5.0' }));
});

testWithEngine("the built image's program starts and names missing settings (needs an engine)", () => {
  expect(inContainer(['node', '/app/main.mjs'])).toMatch(/GATEWAY_NATS_URL/);
});
