// The images of the project: their packages, their programs, and the files that they need.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
      Object.entries(DEMO).flatMap(([command, [room, name]]) =>
        existsSync(join(ROOT, room, `src/${name}.ts`)) ? [[command, [`${room}/dist/${name}.js`]]] : [],
      ),
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
 * Returns the paths in the checkout that packages need at run time. An image has them at the same
 * paths, so that Node finds the locked version of each dependency. `packages` are the packages of
 * the project and `links` npm's links to them; `modules` are the production dependencies.
 * @throws Error if a dependency is not in the lockfile
 */
export function contentsOf(rooms) {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const closure = closureOf(rooms, lock);
  const packages = [...new Set([...rooms, ...closure.flatMap((path) => (lock[path].link ? lock[path].resolved : []))])];
  const links = Object.keys(lock).filter((path) => lock[path].link && packages.includes(lock[path].resolved));
  return {
    packages: packages.sort(),
    parts: [...packages.flatMap(partsOf), ...rooms.flatMap((room) => READS[room] ?? [])],
    links: links.map((path) => ({ path, target: lock[path].resolved })),
    modules: closure.filter((path) => !lock[path].link),
  };
}

function partsOf(room) {
  return PARTS.map((part) => join(room, part)).filter((path) => existsSync(join(ROOT, path)));
}

/** Returns the lockfile paths of all production dependencies of the packages, each once. */
function closureOf(rooms, lock) {
  const found = new Set();
  const open = [...rooms];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const entry = lock[path].link ? lock[lock[path].resolved] : lock[path];
    const from = lock[path].link ? lock[path].resolved : path;
    const optional = { ...entry.optionalDependencies, ...optionalPeers(entry) };
    const needed = { ...entry.dependencies, ...entry.peerDependencies, ...optional };
    for (const dependency of Object.keys(needed)) {
      const place = placeOf(dependency, from, lock);
      if (place === undefined && !(dependency in optional)) throw new Error(`${from}: ${dependency} is not locked`);
      // An optional package of another platform is locked but not installed.
      if (place === undefined || found.has(place) || !existsSync(join(ROOT, place))) continue;
      found.add(place);
      open.push(place);
    }
  }
  return [...found].sort();
}

function optionalPeers({ peerDependencies = {}, peerDependenciesMeta = {} }) {
  return Object.fromEntries(Object.entries(peerDependencies).filter(([peer]) => peerDependenciesMeta[peer]?.optional));
}

/** Finds a dependency as Node does: first in the package, then upwards. */
function placeOf(dependency, from, lock) {
  for (let directory = from; ; directory = dirname(directory)) {
    const place = directory === '.' ? `node_modules/${dependency}` : `${directory}/node_modules/${dependency}`;
    if (place in lock) return place;
    if (directory === '.') return undefined;
  }
}

/** Returns the program that an npm script starts, with its arguments. */
function programOf(room, script) {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, room, 'package.json'), 'utf8'));
  const [, program, words] = /(?:^|&& )node (\S+\.js)((?: [\w-]+)*)$/.exec(scripts[script] ?? '') ?? [];
  if (program === undefined) throw new Error(`${room}: the script ${script} starts no compiled program`);
  return [program.startsWith('dist/') ? `${room}/${program}` : program, ...words.split(' ').filter(Boolean)];
}
