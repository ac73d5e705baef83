import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';

const SUITE = 'bookworm';
const INCLUDED = 'ca-certificates,git';
const DEBOOTSTRAP = '/usr/sbin/debootstrap';

/**
 * Unpacks a bare Debian 12 at `place`: minbase with git and certificates. It is created once and
 * stored as an archive in `cache`, from the mirror of this machine's package sources.
 */
export function unpackBase(cache, place) {
  const archive = `${cache}/debian-12-${process.arch}.tar`;
  const cached = existsSync(archive);
  if (!cached) makeArchive(archive, `${place}.draft`);
  mkdirSync(place);
  run('tar', ['-C', place, '--numeric-owner', '-xf', archive]);
  return cached;
}

/** Returns the lines of a sources.list with this machine's sources of the release. */
export function packageSources() {
  const targets = indexTargets();
  return targets.map(({ uri, release, component }) => `deb ${uri} ${release} ${component}`);
}

export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26, ...options });
  if (result.error) throw result.error;
  if (result.status === 0) return result.stdout;
  const said = `${result.stdout ?? ''}${result.stderr ?? ''}`.trimEnd().split('\n').slice(-20).join('\n');
  throw new Error(`${command} ${args[0] ?? ''} ended with ${result.status ?? result.signal}\n${said}`);
}

function makeArchive(archive, draft) {
  const quiet = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  if (!existsSync(DEBOOTSTRAP)) {
    if (indexTargets().length === 0) run('apt-get', ['-qq', 'update'], quiet);
    run('apt-get', ['-qq', '-y', '--no-install-recommends', 'install', 'debootstrap'], quiet);
  }
  const mirror = indexTargets().find(({ release, component }) => release === SUITE && component === 'main');
  if (!mirror) throw new Error(`the package sources of this machine name no mirror for ${SUITE}`);
  const args = ['--variant=minbase', `--include=${INCLUDED}`, SUITE, draft, mirror.uri];
  run(DEBOOTSTRAP, args, quiet);
  for (const left of ['var/lib/apt/lists', 'var/cache/apt', 'var/log/bootstrap.log'])
    rmSync(`${draft}/${left}`, { recursive: true, force: true });
  mkdirSync(archive.slice(0, archive.lastIndexOf('/')), { recursive: true });
  run('tar', ['-C', draft, '--numeric-owner', '-cf', `${archive}.new`, '.']);
  renameSync(`${archive}.new`, archive);
  rmSync(draft, { recursive: true });
}

function indexTargets() {
  const format = '$(REPO_URI) $(RELEASE) $(COMPONENT)';
  const text = run('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
  return [...new Set(text.split('\n').filter(Boolean))].map((line) => {
    const [uri, release, component] = line.split(' ');
    return { uri, release, component };
  });
}
