// The container engine of this machine: docker, podman or buildah.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './recipe.mjs';

const ENGINES = ['docker', 'podman', 'buildah'];
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?\//;

/** Returns the named engine, or the first that responds; null if there is none. */
export function findEngine(wanted) {
  const name = (wanted === undefined ? ENGINES : [wanted]).find(
    (one) => read(one, [one === 'docker' ? 'version' : 'info']).status === 0,
  );
  return name === undefined ? null : new Engine(name);
}

class Engine {
  constructor(name) {
    this.name = name;
    // Without buildx, docker has its first builder only.
    const hasKit = name === 'docker' && read(name, ['buildx', 'version']).status === 0;
    this.env = name !== 'docker' || hasKit ? process.env : { DOCKER_BUILDKIT: '0', ...process.env };
  }

  /** Runs the engine with its output on the terminal. @throws Error if it fails */
  run(args) {
    execFileSync(this.name, args, { cwd: ROOT, env: this.env, stdio: ['ignore', 'inherit', 'inherit'] });
  }

  /** Returns the engine's output. @throws Error with its error output if it fails */
  read(args) {
    return execFileSync(this.name, args, { cwd: ROOT, stdio: 'pipe', encoding: 'utf8', maxBuffer: 1 << 28 }).trim();
  }

  /** Returns whether the image is here, after an attempt to pull it. */
  has(image) {
    const inspect = this.name === 'buildah' ? ['inspect', '--type', 'image', image] : ['image', 'inspect', image];
    return read(this.name, inspect).status === 0 || read(this.name, ['pull', image]).status === 0;
  }

  /**
   * Builds a target of a Dockerfile. With `epoch` (seconds), podman and buildah give every file and
   * the image this time, so that the same content has the same digest.
   */
  build({ file, context, target, tag, args, epoch, network, noCache = false }) {
    const given = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    const own = this.name === 'docker' ? [] : ['--layers', ...(epoch === undefined ? [] : [`--timestamp=${epoch}`])];
    const options = [
      ...own,
      ...(network === undefined ? [] : ['--network', network]),
      ...(noCache ? ['--no-cache'] : []),
    ];
    this.run(['build', ...options, ...given, '--file', file, '--target', target, '--tag', tag, context]);
  }

  /** Makes an image of an archive with a root file system. */
  import(archive, image) {
    if (this.name !== 'buildah') return this.read(['import', archive, image]);
    const container = this.read(['from', 'scratch']);
    this.read(['add', container, archive, '/']);
    this.read(['commit', '--rm', container, image]);
  }

  /** Runs a program in a container of the image and returns all output. */
  output(image, [program, ...args]) {
    if (this.name !== 'buildah') return both(read(this.name, ['run', '--rm', '--entrypoint', program, image, ...args]));
    const container = this.read(['from', '--pull=never', image]);
    const printed = both(read('buildah', ['run', container, '--', program, ...args]));
    this.read(['rm', container]);
    return printed;
  }

  /**
   * Returns the compressed bytes of an image and the digest of its manifest. With docker, there is
   * only the ID until a push.
   */
  measure(image) {
    if (this.name !== 'docker') {
      const [digest, manifest] = this.#pushTo(image, (work) => `oci:${join(work, 'image')}`);
      return { bytes: manifest.layers.reduce((sum, { size }) => sum + size, 0), digest };
    }
    const { stdout } = read('sh', ['-c', 'docker save "$0" | gzip | wc -c', image]);
    return { bytes: Number(stdout), digest: this.read(['image', 'inspect', '--format', 'ID {{.Id}}', image]) };
  }

  /** Pushes an image under another name and returns the digest in the registry. */
  push(image, target) {
    if (this.name !== 'docker') return this.#pushTo(image, () => `docker://${target}`, !LOOPBACK.test(target))[0];
    this.read(['tag', image, target]);
    return /digest: (sha256:[0-9a-f]{64})/.exec(this.read(['push', target]))?.[1];
  }

  /** Returns the digest and, if the place is in the temporary directory, the manifest. */
  #pushTo(image, placeIn, isVerified = true) {
    const work = mkdtempSync(join(tmpdir(), 'gateway-image-'));
    try {
      const options = [`--tls-verify=${isVerified}`, '--digestfile', join(work, 'digest')];
      this.read(['push', ...options, image, placeIn(work)]);
      const digest = readFileSync(join(work, 'digest'), 'utf8').trim();
      const file = join(work, 'image/blobs', digest.replace(':', '/'));
      return [digest, existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null];
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
}

function read(program, args) {
  return spawnSync(program, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 });
}

function both({ stdout, stderr }) {
  return stdout + stderr;
}
