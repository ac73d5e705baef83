import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Parts of a package that its image needs, if they exist. */
const PARTS = ['package.json', 'dist', 'lua', 'migrations', 'lists', 'web/dist'];
/** Packages that read files of other packages at run time. */
const READS = {
  'tools/operations': ['services/billing/migrations', 'services/accounts/migrations', 'services/catalog/migrations'],
};

/**
 * Returns the contents of a package's image as paths in the checkout and in the image: its own
 * parts, the compiled project packages that it depends on, and its production dependencies in
 * `node_modules` as locked.
 * @throws Error if two versions of a dependency need the same path in the image
 */
export function contentsOf(room) {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const closure = closureOf(room, lock);
  // A link in node_modules points to a package of the project. The package's compiled parts replace
  // the link, and its nested packages move with it, because Node and npm search for them there.
  const links = closure.filter((path) => lock[path].link).map((path) => ({ place: path, room: lock[path].resolved }));
  const imagePathOf = (path) => {
    const link = links.find((one) => path.startsWith(`${one.room}/node_modules/`));
    if (link !== undefined) return link.place + path.slice(link.room.length);
    // The image's own package.json lists these dependencies, so they move to the top.
    return path.startsWith(`${room}/node_modules/`) ? path.slice(room.length + 1) : path;
  };
  const packages = closure.flatMap((path) =>
    lock[path].link ? partsOf(lock[path].resolved, path) : [{ from: path, to: imagePathOf(path) }],
  );
  const twice = packages.find(({ to }, at) => packages.findIndex((one) => one.to === to) !== at);
  if (twice !== undefined) throw new Error(`${room}: two packages need ${twice.to} in the image`);
  return [...partsOf(room, room), ...(READS[room] ?? []).map((path) => ({ from: path, to: path })), ...packages];
}

function partsOf(room, place) {
  return PARTS.filter((part) => existsSync(join(ROOT, room, part))).map((part) => ({
    from: join(room, part),
    to: join(place, part),
  }));
}

/** Returns the lockfile paths of all production dependencies of the package, each once. */
function closureOf(start, lock) {
  const found = new Set();
  const open = [start];
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
