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
 * What the image of a room holds, as paths in the checkout and in the image: its own parts, the
 * compiled packages of the project that it depends on, and from `node_modules` the closure of
 * production dependencies as the lockfile resolves them.
 */
export function contentsOf(room) {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const packages = closureOf(room, lock).flatMap((path) =>
    // A link leads to a room of the project: its compiled part goes where the link lay.
    lock[path].link ? partsOf(lock[path].resolved, path) : [{ from: path, to: path }],
  );
  return [...partsOf(room, room), ...(READS[room] ?? []).map((path) => ({ from: path, to: path })), ...packages];
}

function partsOf(room, place) {
  return PARTS.filter((part) => existsSync(join(ROOT, room, part))).map((part) => ({
    from: join(room, part),
    to: join(place, part),
  }));
}

/** Places in the lockfile of everything that the room needs in production, each once. */
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
