import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { run, unpackBase } from './debian-base.mjs';
import { copyNetworkSettings } from './network-settings.mjs';

const ROOT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Debian's PATH of an ordinary user: without the sbin directories. */
const USER_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games';
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
const COMMAND_LIMIT_MS = 300_000;

/** A Debian root with only git, Node and npm, and the processes in it. */
export class BareRoot {
  #place;
  #cache;
  #network;
  npmVersion;
  text;

  static make(repository, place) {
    const root = new BareRoot();
    root.#place = place;
    root.#cache = `${repository}.cache/bare`;
    const cached = unpackBase(root.#cache, place);
    root.#copyNode();
    root.#network = copyNetworkSettings(place);
    root.#mount();
    run('chroot', [place, '/usr/sbin/useradd', '--create-home', '--shell', '/bin/bash', 'someone']);
    const missing = ['curl', 'postgres', 'nats-server', 'redis-server', 'python3', 'gcc'].filter((name) =>
      root.#has(name),
    );
    if (missing.length > 0) throw new Error(`the root is not bare: it has ${missing.join(', ')}`);
    root.text = cached ? 'unpacked from the cache' : 'made with debootstrap';
    return root;
  }

  /** Stores a command's output beyond this run. Returns its path in the checkout. */
  keepLog(name, text) {
    writeFileSync(`${this.#cache}/${name}.log`, text);
    return `.cache/bare/${name}.log`;
  }

  /** Returns a path of the root as seen from outside. */
  path(inside) {
    return `${this.#place}${inside}`;
  }

  /**
   * Starts a command like a shell of this user, in its own process group whose ID is the command's
   * pid. The caller reads standard output and error.
   */
  spawn(user, directory, command, env = {}) {
    const { name, home } = user;
    const enter = name === 'root' ? [] : [`--userspec=${name}:${name}`];
    const args = [...enter, this.#place, '/bin/sh', '-c', 'cd "$0" && exec "$@"', directory, ...command];
    return spawn('/usr/sbin/chroot', args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: name === 'root' ? ROOT_PATH : USER_PATH,
        HOME: home,
        USER: name,
        LOGNAME: name,
        LANG: 'C.UTF-8',
        ...this.#network,
        ...env,
      },
    });
  }

  /** Runs a command to its end. Returns its exit code and its output. */
  async command(user, directory, command, { limitMs = COMMAND_LIMIT_MS, env = {} } = {}) {
    const child = this.spawn(user, directory, command, env);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const timer = setTimeout(() => {
      output += `\n(ended after ${limitMs / 1000} s)`;
      process.kill(-Number(child.pid), 'SIGKILL');
    }, limitMs);
    const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(status ?? signal)));
    clearTimeout(timer);
    return { code, output };
  }

  /** Returns the living processes in the root (not in state Z), each as `pid command`. */
  processes() {
    return readdirSync('/proc').flatMap((pid) => {
      if (!/^\d+$/.test(pid)) return [];
      try {
        if (readlinkSync(`/proc/${pid}/root`) !== this.#place || stateOf(pid) === 'Z') return [];
        return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()}`];
      } catch {
        return [];
      }
    });
  }

  /** Kills the processes that a failed story has left. */
  killAll() {
    for (const line of this.processes()) {
      try {
        process.kill(Number.parseInt(line, 10), 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    }
  }

  #has(program) {
    return ROOT_PATH.split(':').some((directory) => {
      try {
        return readdirSync(this.path(directory)).includes(program);
      } catch {
        return false;
      }
    });
  }

  /**
   * Copies the Node that runs this program in the layout of Node's archive, because Debian's own
   * Node is too old.
   */
  #copyNode() {
    const npm = `${run('npm', ['root', '-g']).trim()}/npm`;
    cpSync(process.execPath, this.path('/usr/local/bin/node'));
    cpSync(npm, this.path('/usr/local/lib/node_modules/npm'), { recursive: true, dereference: true });
    for (const name of ['npm', 'npx'])
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, this.path(`/usr/local/bin/${name}`));
    this.npmVersion = JSON.parse(readFileSync(`${npm}/package.json`, 'utf8')).version;
  }

  /** Mounts in this program's own namespace, which ends with the program. */
  #mount() {
    run('mount', ['-t', 'proc', 'proc', this.path('/proc')]);
    run('mount', ['-t', 'tmpfs', '-o', 'mode=0755', 'dev', this.path('/dev')]);
    for (const name of DEVICES) {
      writeFileSync(this.path(`/dev/${name}`), '');
      run('mount', ['--bind', `/dev/${name}`, this.path(`/dev/${name}`)]);
    }
    mkdirSync(this.path('/dev/shm'));
    run('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'shm', this.path('/dev/shm')]);
    symlinkSync('/proc/self/fd', this.path('/dev/fd'));
    for (const [fd, name] of ['stdin', 'stdout', 'stderr'].entries())
      symlinkSync(`/proc/self/fd/${fd}`, this.path(`/dev/${name}`));
  }
}

function stateOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2)[0];
}
