import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { lastLines } from './checkout.mjs';
import { expect } from './results.mjs';

const READY_LIMIT_MS = 300_000;
const POLL_MS = 10;
/** The order in which the processes of a system end on Ctrl-C; the servers follow. */
const STOP_ORDER = ['edge-proxy', 'provider-simulator', 'dashboard', 'admission', 'billing', 'accounts', 'catalog'];
const SERVERS = ['postgres', 'nats', 'redis'];

/** One `npm start` in a checkout, as a terminal runs it. */
export class RunningSystem {
  output = '';
  #checkout;
  #child;
  #ended = null;

  constructor(checkout, args, env) {
    this.#checkout = checkout;
    const { root, user, path } = checkout;
    this.#child = root.spawn(user, path, ['npm', 'start', ...(args.length > 0 ? ['--', ...args] : [])], env);
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
    this.#child.once('exit', (code, signal) => {
      // A prompt that returns during the stop could lead to the next start too early.
      const starterLeft = isAlive(this.#lastRunning?.pids.starter[0]);
      this.#ended = { how: code ?? signal, starterLeft };
    });
  }

  /** Starts and waits for the line that programs wait for. */
  static async start(checkout, args = ['--port', '0'], env = {}) {
    const system = new RunningSystem(checkout, args, env);
    await system.waitFor(/^ready: http:\S+$/m);
    return system;
  }

  async waitFor(pattern) {
    const until = performance.now() + READY_LIMIT_MS;
    while (!pattern.test(this.output)) {
      expect(this.#ended === null, `a line ${pattern} of npm start, which ended with ${this.#ended?.how}`, () =>
        this.tail(),
      );
      expect(performance.now() < until, `a line ${pattern} of npm start within ${READY_LIMIT_MS / 1000} s`, () =>
        this.tail(),
      );
      await delay(POLL_MS);
    }
  }

  tail() {
    return lastLines(this.output);
  }

  get npmPid() {
    return this.#child.pid;
  }

  get running() {
    return JSON.parse(readFileSync(this.#runningFile, 'utf8'));
  }

  get #runningFile() {
    return this.#checkout.root.path(`${this.#checkout.state}/running.json`);
  }

  /** Returns the two printed commands, plain and streamed, exactly as a reader would copy them. */
  printedCalls() {
    const calls = [...this.output.matchAll(/^curl (?:.*\\\n)*.*$/gm)].map(([text]) => text);
    expect(calls.length === 2, 'two printed curls', () => this.tail());
    return calls;
  }

  /** Sends the signal to every process of the foreground group, as a terminal does on Ctrl-C. */
  pressCtrlC() {
    process.kill(-this.#child.pid, 'SIGINT');
  }

  /**
   * Waits until npm and every process in the root have ended. Returns the ended processes in
   * groups: those of one group were alive at one poll and gone at the next.
   */
  async gone(limitMs, { alone = true } = {}) {
    const { pids } = this.#lastRunning ?? { pids: {} };
    const groups = [];
    const seen = new Set();
    const until = performance.now() + limitMs;
    const left = () => (alone ? this.#checkout.root.processes() : [...alive(pids).values()].flat().map(String));
    for (;;) {
      const living = alive(pids);
      const ended = Object.keys(pids).filter((name) => living.get(name).length === 0 && !seen.has(name));
      if (ended.length > 0) groups.push(ended);
      for (const name of ended) seen.add(name);
      if (this.#ended !== null && seen.size === living.size && left().length === 0) return groups;
      const remains = () => `still there:\n${left().join('\n') || `npm, process ${this.npmPid}`}\n\n${this.tail()}`;
      expect(performance.now() < until, `no process left after ${limitMs / 1000} s`, remains);
      await delay(POLL_MS);
    }
  }

  /** Call it while the system runs, because running.json may be gone afterwards. */
  remember() {
    this.#lastRunning = this.running;
    return this.#lastRunning;
  }
  #lastRunning = null;

  expectOrderlyEnd(groups) {
    expect([0, 130, 'SIGINT'].includes(this.#ended.how), `npm start to end with 0 or 130, not ${this.#ended.how}`, () =>
      this.tail(),
    );
    expect(!this.#ended.starterLeft, 'npm to end after the starter', () => this.tail());
    expect(/^stopped$/m.test(this.output), 'the starter to print "stopped"', () => this.tail());
    expect(!/at once$/m.test(this.output), 'one Ctrl-C not to be taken for two', () => this.tail());
    expect(!existsSync(this.#runningFile), 'no running.json after the end', () => this.tail());
    const order = groups
      .map((names) => names.filter((name) => name !== 'starter').sort((a, b) => rank(a) - rank(b)))
      .flat();
    const wanted = order.toSorted((a, b) => rank(a) - rank(b));
    const told = `they ended so: ${order.join(', ')}\n${this.tail()}`;
    expect(
      order.map(rank).join() === wanted.map(rank).join(),
      `the processes to end in the order ${wanted.join(', ')}`,
      told,
    );
    const code = this.#ended.how === 'SIGINT' ? 130 : this.#ended.how;
    return `ended with ${code}, in order: ${order.filter((name) => !SERVERS.includes(name)).join(', ')}, servers`;
  }
}

/** Checks the last processes first, so that none seems to have ended too early. */
function alive(pids) {
  const names = Object.keys(pids).sort((a, b) => rank(b) - rank(a));
  return new Map(names.map((name) => [name, pids[name].filter(isAlive)]));
}

function rank(name) {
  return SERVERS.includes(name) ? STOP_ORDER.length : STOP_ORDER.indexOf(name);
}

function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}
