// The images of the project: their packages, their programs, and the files that they need.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Exact versions of bases and servers. Compose and the chart read the same file. */
export const IMAGES_FILE = join(ROOT, 'deploy/helm/model-gateway/files/images.yaml');

const SERVICES = ['edge-proxy', 'admission', 'billing', 'catalog', 'accounts', 'dashboard'];
/** The npm scripts of `operate`, by package. */
const OPERATE = {
  '.': ['migrate', 'backup', 'restore', 'secrets', 'permissions', 'operator', 'ledger'],
  'services/admission': ['lost-changes'],
  'services/billing': ['audit', 'chain', 'restored', 'dead-letters'],
  'services/edge-proxy': ['replay-usage'],
  'tools/operations': ['reseal'],
};
/** The commands of `demo`: package and program. */
const DEMO = {
  simulator: ['tools/provider-simulator', 'main'],
  mailbox: ['tools/mailbox', 'main'],
  'first-request': ['tools/mailbox', 'first-request'],
};

/**
 * Each image by name: its packages, and either its program or its commands. A command is a compiled
 * program with its first arguments.
 * @typedef {{ rooms: string[], program?: string, commands?: Record<string, string[]> }} Image
 * @type {Record<string, Image>}
 */
export const IMAGES = {
  ...Object.fromEntries(
    SERVICES.map((name) => [name, { rooms: [`services/${name}`], program: `services/${name}/dist/main.js` }]),
  ),
  operate: {
    rooms: ['services/dashboard', 'services/catalog', ...Object.keys(OPERATE).filter((room) => room !== '.')],
    commands: Object.fromEntries(
      Object.entries(OPERATE).flatMap(([room, scripts]) => scripts.map((script) => [script, programOf(room, script)])),
    ),
  },
  demo: {
    rooms: ['tools/provider-simulator', 'tools/mailbox'],
    commands: Object.fromEntries(
      Object.entries(DEMO).map(([command, [room, name]]) => [command, [`${room}/dist/${name}.js`]]),
    ),
  },
};

/** Parts of a package of the project that its image needs, if they exist. */
const PARTS = ['package.json', 'dist', 'lua', 'migrations', 'lists', 'web/dist'];
/** Packages that read files of other packages at run time. */
const READS = {
  'tools/operations': ['services/billing/migrations', 'services/accounts/migrations', 'services/catalog/migrations'],
};

/** Returns the images of images.yaml by name: bases and servers. */
export function readImages() {
  const { services } = parse(readFileSync(IMAGES_FILE, 'utf8'));
  const named = Object.entries(services).filter(([, { image }]) => image !== undefined);
  return Object.fromEntries(named.map(([name, { image }]) => [name, image]));
}

/**
 * Returns the text of images.yaml with the current digest of every image, which skopeo reads from
 * its registry.
 * @throws Error with each image whose digest cannot be read
 */
export function pinImages(text) {
  const failed = [];
  const pinned = text.replace(/(image: (?:&\w+ )?)([^\s}@]+)[^\s}]*/g, (_, before, image) => {
    const isLocal = /^(localhost|127\.|\[::1\])/.test(image);
    const args = ['inspect', '--raw', ...(isLocal ? ['--tls-verify=false'] : []), `docker://${image}`];
    const { status, stdout, stderr, error } = spawnSync('skopeo', args);
    if (status !== 0) failed.push(`${image}: ${error?.message ?? String(stderr).trim()}`);
    return `${before}${image}@sha256:${createHash('sha256')
      .update(stdout ?? '')
      .digest('hex')}`;
  });
  if (failed.length > 0) throw new Error(failed.join('\n'));
  return pinned;
}

/**
 * Returns the paths in the checkout that packages need at run time, as npm lists them. An image has
 * them at the same paths, so that Node finds the locked version of each dependency. `packages` are
 * the packages of the project and `links` npm's links to them; `modules` are the production
 * dependencies.
 * @throws Error if a dependency is not installed or has another version than required
 */
export function contentsOf(rooms) {
  const args = ['ls', '--all', '--parseable', '--omit=dev', ...rooms.flatMap((room) => ['-w', manifestOf(room).name])];
  const listed = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 }).match(/.+/g);
  const paths = listed.map((path) => relative(ROOT, path)).filter((path) => path !== '');
  const targetOf = (path) => relative(ROOT, realpathSync(join(ROOT, path)));
  const links = paths.map((path) => ({ path, target: targetOf(path) })).filter(({ path, target }) => path !== target);
  const packages = [...new Set(links.map(({ target }) => target))].sort();
  return {
    packages,
    parts: [...packages.flatMap(partsOf), ...rooms.flatMap((room) => READS[room] ?? [])],
    links,
    modules: paths.filter((path) => targetOf(path) === path),
  };
}

function partsOf(room) {
  return PARTS.map((part) => join(room, part)).filter((path) => existsSync(join(ROOT, path)));
}

function manifestOf(room) {
  return JSON.parse(readFileSync(join(ROOT, room, 'package.json'), 'utf8'));
}

/** Returns the program that an npm script starts, with its arguments. */
function programOf(room, script) {
  const { scripts } = manifestOf(room);
  const [, program, words] = /(?:^|&& )node (\S+\.js)((?: [\w-]+)*)$/.exec(scripts[script] ?? '') ?? [];
  if (program === undefined) throw new Error(`${room}: the script ${script} starts no compiled program`);
  return [program.startsWith('dist/') ? `${room}/${program}` : program, ...words.split(' ').filter(Boolean)];
}
