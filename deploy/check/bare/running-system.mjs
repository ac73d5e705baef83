import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { lastLines } from './checkout.mjs';
import { expect } from './results.mjs';

const READY_LIMIT_MS = 300_000;
const POLL_MS = 10;
/** The order in which the processes of a system end on Ctrl-C; those of one line may end in any order. */
const STOP_ORDER = [['edge-proxy'], ['provider-simulator'], ['admission'], ['billing'], ['accounts'], ['catalog']];
const SERVERS = ['postgres', 'nats', 'redis'];

/** One `npm start` in a checkout, as a terminal runs it. */
export class RunningSystem {
  output = '';
  #checkout;
  #child;
  #ended = null;

  constructor(checkout, args) {
    this.#checkout = checkout;
    const { root, user, path } = checkout;
    this.#child = root.spawn(user, path, ['npm', 'start', ...(args.length > 0 ? ['--', ...args] : [])]);
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
    this.#child.once('exit', (code, signal) => (this.#ended = { how: code ?? signal }));
  }

  /** Starts and waits for the line that programs wait for. */
  static async start(checkout, args = ['--port', '0']) {
    const system = new RunningSystem(checkout, args);
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

  /** The two printed commands, plain and streamed, exactly as a reader would copy them. */
  printedCalls() {
    const calls = [...this.output.matchAll(/^curl (?:.*\\\n)*.*$/gm)].map(([text]) => text);
    expect(calls.length === 2, 'two printed curls', () => this.tail());
    return calls;
  }

  /** What a terminal does on Ctrl-C: every process of the foreground group gets the signal. */
  pressCtrlC() {
    process.kill(-this.#child.pid, 'SIGINT');
  }

  /** Waits until npm and every process in the root has ended. Returns the order in which the named processes ended. */
  async gone(limitMs, { alone = true } = {}) {
    const { pids } = this.#lastRunning ?? { pids: {} };
    const endings = [];
    const until = performance.now() + limitMs;
    const left = () => (alone ? this.#checkout.root.processes() : [...alive(pids).values()].flat().map(String));
    for (;;) {
      const living = alive(pids);
      for (const name of Object.keys(pids))
        if (living.get(name).length === 0 && !endings.includes(name)) endings.push(name);
      if (this.#ended !== null && left().length === 0) return endings;
      const seen = () => `still there:\n${left().join('\n') || `npm, process ${this.npmPid}`}\n\n${this.tail()}`;
      expect(performance.now() < until, `no process left after ${limitMs / 1000} s`, seen);
      await delay(POLL_MS);
    }
  }

  /** To be called while the system runs: afterwards running.json may be gone. */
  remember() {
    this.#lastRunning = this.running;
    return this.#lastRunning;
  }
  #lastRunning = null;

  expectOrderlyEnd(endings) {
    expect([0, 130, 'SIGINT'].includes(this.#ended.how), `npm start to end with 0 or 130, not ${this.#ended.how}`, () =>
      this.tail(),
    );
    expect(!existsSync(this.#runningFile), 'no running.json after the end', () => this.tail());
    const order = endings.filter((name) => !SERVERS.includes(name) && name !== 'starter');
    const wanted = STOP_ORDER.flat().filter((name) => order.includes(name));
    expect(
      order.join() === wanted.join(),
      `the processes to end in the order ${wanted.join(', ')}`,
      `order: ${order.join(', ')}\n${this.tail()}`,
    );
    const firstServer = endings.findIndex((name) => SERVERS.includes(name));
    const lastService = endings.findLastIndex((name) => STOP_ORDER.flat().includes(name));
    expect(firstServer > lastService, 'the servers to end last', `order: ${endings.join(', ')}`);
    return `ended with ${this.#ended.how}, in order: ${order.join(', ')}, servers`;
  }
}

function alive(pids) {
  return new Map(Object.entries(pids).map(([name, list]) => [name, list.filter(isAlive)]));
}

function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}
