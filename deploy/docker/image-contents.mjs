import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What a room may bring to run; each is taken where it exists. */
const PARTS = ['package.json', 'dist', 'lua', 'migrations', 'lists', 'web/dist'];
/** Rooms that read other rooms' files at run time. */
const READS = {
  'deploy/setup': ['services/billing/migrations', 'services/accounts/migrations', 'services/catalog/migrations'],
};

/**
 * Returns the contents of a room's image as paths in the checkout and in the image: its own parts,
 * the compiled packages of the project that it depends on, and from `node_modules` the closure of
 * production dependencies as the lockfile resolves them.
 * @throws Error where two versions of a package would need the same place in the image
 */
export function contentsOf(room) {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const closure = closureOf(room, lock);
  // A link in node_modules leads to a package of the project. Its compiled parts replace the link,
  // and packages nested in it move with it: Node and npm look for them there.
  const links = closure.filter((path) => lock[path].link).map((path) => ({ place: path, room: lock[path].resolved }));
  const imagePathOf = (path) => {
    const link = links.find((one) => path.startsWith(`${one.room}/node_modules/`));
    if (link !== undefined) return link.place + path.slice(link.room.length);
    // The image's own package.json has the room's dependencies: the room's packages are at the top.
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

/** Returns the lockfile paths of everything that the room needs in production, each once. */
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
      // An optional package of another platform is locked and not there.
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

/** As Node looks for it: beside, then upwards. */
function placeOf(dependency, from, lock) {
  for (let directory = from; ; directory = dirname(directory)) {
    const place = directory === '.' ? `node_modules/${dependency}` : `${directory}/node_modules/${dependency}`;
    if (place in lock) return place;
    if (directory === '.') return undefined;
  }
}
