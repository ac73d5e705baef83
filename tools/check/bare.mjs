// `npm run check:bare`: runs the README's two commands on a bare Debian 12, as root and as an
// ordinary user, with the failures that a new user can meet. The first failed step ends the run.
// `--skip-tests` leaves out `npm test`, which root runs. `.ci/run` runs only the first start, in
// its own checkout, which is not compiled yet (`--here`).
//
// The bare root is Debian's minbase with git, the Node and npm of this machine and its network
// settings. It is used in a separate mount and process namespace, so that nothing remains of it.
// Outside of it the run only installs debootstrap, if it is missing.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SOURCE = '/var/source.bundle';
/** Debian's directories of programs for each user. The user's checkout has a space in its path. */
const USERS = [
  { name: 'root', checkout: '/root/gateway', path: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
  { name: 'someone', checkout: '/home/someone/a gateway', path: '/usr/local/bin:/usr/bin:/bin:/usr/games' },
];
/** The order in which the processes of a system end on Ctrl-C. The servers follow. */
const STOP_ORDER = ['edge-proxy', 'provider-simulator', 'dashboard', 'admission', 'billing', 'accounts', 'catalog'];
const rank = (name) => (STOP_ORDER.includes(name) ? STOP_ORDER.indexOf(name) : STOP_ORDER.length);
/** Prices of the model in the printed commands, per token: 0.15, 0.075 and 0.60 USD per million. */
const NANO_USD = { input: 150, cached: 75, output: 600 };
const nanoUsd = (text) => Math.round(Number(text) * 1e9);

const COMMAND_MS = 1_200_000;
/** The first start fetches the servers. */
const READY_MS = 300_000;
const SECOND_READY_MS = 20_000;
const CALL_MS = 30_000;
const LEDGER_MS = 5_000;
/** Bounds of the local start: after Ctrl-C, a kill, Ctrl-C during the start, a second Ctrl-C. */
const STOP_MS = 20_000;
const KILLED_MS = 5_000;
const ABORTED_START_MS = 10_000;
const AT_ONCE_MS = 3_000;
/** A stopping edge waits 10 s for its requests. After this time it certainly waits. */
const INTO_DRAIN_MS = 2_000;
const POLL_MS = 10;
const LINES_SHOWN = 40;
const COPY = { recursive: true, dereference: true };

const flag = { type: 'boolean', default: false };
const known = { 'skip-tests': flag, here: flag, inside: { type: 'string' } };
const { values: options } = parseArgs({ options: known });
/** Variables of this machine's registry, proxies and certificates. */
const network = options.inside === undefined ? {} : networkSettings();

async function runInside(place) {
  await step('a bare Debian 12', () => makeRoot(place));
  for (const user of USERS) await runScenarios(place, user);
}

/** Runs this program in namespaces, and deletes the directory of the run afterwards. */
async function enterNamespace() {
  expect(process.getuid() === 0, 'root, because the check creates a root file system');
  // Outside the checkout, because tools that scan it would find the copies.
  const directory = mkdtempSync('/var/tmp/gateway-bare-');
  const self = [process.execPath, fileURLToPath(import.meta.url), ...process.argv.slice(2), '--inside', directory];
  // The shell is the first process of the namespace and reaps orphans, as every init does.
  const init = ['sh', '-c', '"$@"; exit $?', 'init', ...self];
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const inside = spawn('unshare', [...namespaces, ...init], { stdio: 'inherit' });
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => inside.kill('SIGKILL'));
  process.exitCode = await new Promise((resolve) => inside.once('close', (code) => resolve(code ?? 1)));
  rmSync(directory, { recursive: true, force: true });
}

/** The first start of a new user, in this checkout with a temporary state. */
async function startHere() {
  const state = mkdtempSync(`${tmpdir()}/gateway-first-start-`);
  if (existsSync(`${ROOT}services/edge-proxy/dist`)) console.log('this checkout was compiled before');
  const checkout = new Checkout('', null, ROOT, state);
  // The system has its own process group, so a signal to this one must be passed on.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => {
      if (checkout.end === null) checkout.pressCtrlC();
      process.exitCode = 130;
    });
  try {
    await step('npm start in this checkout', () => startAndStop(checkout));
  } finally {
    if (checkout.end === null) {
      process.kill(-checkout.npm.pid, 'SIGKILL');
      await once(checkout.npm, 'close');
    }
    rmSync(state, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

function makeRoot(place) {
  if (!existsSync('/usr/sbin/debootstrap')) run('apt-get', ['-qq', '-y', 'install', 'debootstrap']);
  const targets = ['Created-By: Packages', 'Release: bookworm', 'Component: main'];
  const [mirror] = run('apt-get', ['indextargets', '--format', '$(REPO_URI)', ...targets]).split('\n');
  run('/usr/sbin/debootstrap', ['--variant=minbase', '--include=ca-certificates,git', 'bookworm', place, mirror]);
  // A new machine has no package lists.
  rmSync(`${place}/var/lib/apt/lists`, { recursive: true });
  const settings = ['/etc/apt', '/etc/resolv.conf', '/etc/hosts', '/etc/ssl/certs/ca-certificates.crt'];
  for (const path of [...settings, ...Object.values(network).filter((value) => value.startsWith('/'))])
    if (existsSync(path)) cpSync(path, `${place}${path}`, COPY);
  // The layout of Node's archive, because Debian's own Node is too old.
  cpSync(process.execPath, `${place}/usr/local/bin/node`);
  cpSync(`${run('npm', ['root', '-g']).trim()}/npm`, `${place}/usr/local/lib/node_modules/npm`, COPY);
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, `${place}/usr/local/bin/${name}`);
  run('mount', ['-t', 'proc', 'proc', `${place}/proc`]);
  run('mount', ['--rbind', '/dev', `${place}/dev`]);
  run('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'shm', `${place}/dev/shm`]);
  run('chroot', [place, 'useradd', '--create-home', '--shell', '/bin/bash', USERS[1].name]);
  run('git', ['-C', ROOT, 'bundle', 'create', '--quiet', `${place}${SOURCE}`, 'HEAD']);
}

function networkSettings() {
  const npm = ['registry', 'cafile', 'proxy', 'https-proxy', 'noproxy', 'strict-ssl'].map((name) => [
    `npm_config_${name.replace('-', '_')}`,
    run('npm', ['config', 'get', name], { cwd: '/' }).trim(),
  ]);
  const own = Object.entries(process.env).filter(([name]) =>
    /_proxy$|^(NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$/i.test(name),
  );
  return Object.fromEntries([...npm, ...own].filter(([, value]) => !['', 'null', 'undefined'].includes(value)));
}

/** The scenarios of one user. Each continues with the data that the ones before have left. */
async function runScenarios(place, user) {
  const checkout = new Checkout(place, user, user.checkout);
  let key;
  const scenario = (title, work) =>
    step(`${user.name}: ${title}`, async () => {
      await work();
      await until(KILLED_MS, 'no process left', () => leftProcesses() === '', leftProcesses);
    });
  await scenario('git clone', () =>
    checkout.run(['git', 'clone', '--quiet', SOURCE, checkout.path], { directory: '/' }),
  );
  await scenario('npm start before npm ci', async () => {
    const output = await checkout.run(['npm', 'start'], { isRefused: true });
    expect(output.includes('run "npm ci" first'), 'the missing command', output);
  });
  await scenario('npm ci', () => checkout.run(['npm', 'ci']));
  await scenario('first npm start', async () => void (key = await startAndStop(checkout)));
  await scenario('second npm start', () => startAndStop(checkout, { key, readyMs: SECOND_READY_MS }));
  for (const victim of ['starter', 'npm'])
    await scenario(`kill -9 of the process ${victim}, npm start`, async () => {
      await checkout.start();
      await checkout.call(checkout.printed[0]);
      process.kill(victim === 'npm' ? checkout.npm.pid : checkout.pids.starter[0], 'SIGKILL');
      await checkout.ended(KILLED_MS);
      await startAndStop(checkout, { key });
    });
  // bash replaces itself by its last command, so the starter gets the signal from npm too.
  const env = { npm_config_script_shell: '/bin/bash' };
  await scenario('Ctrl-C with bash as the shell of npm', () => startAndStop(checkout, { key, env }));
  await scenario('Ctrl-C during the start, npm start', async () => {
    await checkout.start({}, /^servers ready/m);
    checkout.pressCtrlC();
    await checkout.ended(ABORTED_START_MS);
    await startAndStop(checkout, { key });
  });
  await scenario('Ctrl-C while a request runs, and again', () => pressTwice(checkout));
  await scenario('npm run doctor, npm run reset', async () => {
    const output = await checkout.run(['npm', 'run', 'doctor']);
    const isNamed = (name) => new RegExp(`^${name} +[\\d.]+ +project`, 'm').test(output);
    expect(['postgres', 'nats', 'redis'].every(isNamed), 'the version and place of each server', output);
    await checkout.run(['npm', 'run', 'reset']);
    expect(!existsSync(place + checkout.state), 'no state after the reset');
  });
  if (user === USERS[0] && !options['skip-tests'])
    await scenario('npm test', async () => console.log(await checkout.run(['npm', 'test'])));
}

/** Starts the system, sends the printed requests, and stops it. Returns the demo key. */
async function startAndStop(checkout, { key, env, readyMs = READY_MS } = {}) {
  const startedAt = performance.now();
  await checkout.start(env);
  expect(performance.now() - startedAt < readyMs, `a start within ${readyMs / 1_000} s`, checkout.output);
  const { demoApiKey, dashboardUrl } = checkout.running;
  const isKnown = key === undefined || (demoApiKey === key && checkout.output.includes(key));
  expect(isKnown, 'the demo key of the first start', checkout.output);
  for (const command of checkout.printed) await checkout.call(command);
  expect((await fetch(dashboardUrl)).status === 200, 'the page of the dashboard');
  await checkout.stop();
  return demoApiKey;
}

/** A slow stream keeps the edge running after the first Ctrl-C. The second one ends everything. */
async function pressTwice(checkout) {
  await checkout.start({ GATEWAY_SIMULATOR_CHUNK_DELAY_MS: '5000' });
  const response = await send(checkout.printed[1]);
  checkout.pressCtrlC();
  await delay(INTO_DRAIN_MS);
  expect(checkout.alive().includes('edge-proxy'), 'the edge to wait for its request', checkout.output);
  checkout.pressCtrlC();
  await checkout.ended(AT_ONCE_MS);
  await response.text().catch(() => undefined);
}

/** A clone of `user` in the root at `place`, or this checkout, and the system that runs in it. */
class Checkout {
  constructor(place, user, path, state = `${path}/.state`) {
    const runningFile = `${place}${state}/running.json`;
    const stateOption = state === `${path}/.state` ? [] : ['--state', state];
    Object.assign(this, { place, user, path, state, runningFile, stateOption });
  }

  /** Starts a command in its own process group, as a shell of the user does. */
  spawn(command, env = {}, directory = this.path) {
    const { name, checkout = '', path } = this.user ?? {};
    const enter = this.user === null ? [] : ['/usr/sbin/chroot', `--userspec=${name}:${name}`, this.place];
    const [program, ...args] = [...enter, 'sh', '-c', 'cd "$0" && exec "$@"', directory, ...command];
    const login = { PATH: path, HOME: dirname(checkout), USER: name, LOGNAME: name, LANG: 'C.UTF-8', ...network };
    const own = { ...(this.user === null ? process.env : login), ...env };
    return collectOutput(spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: own }));
  }

  /** Returns the output of a command, which must succeed, or fail if `isRefused`. */
  async run(command, { isRefused = false, directory } = {}) {
    const child = this.spawn(command, {}, directory);
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), COMMAND_MS);
    const [code] = await once(child, 'close');
    clearTimeout(timer);
    const isExpected = code !== null && code > 0 === isRefused;
    expect(isExpected, `"${command.join(' ')}" ${isRefused ? 'to be refused' : 'to succeed'}`, child.output);
    return child.output;
  }

  /** Sends a printed request, and compares its charge and its ledger entries with the prices. */
  async call(command) {
    const response = await send(command);
    const id = response.headers.get('x-gateway-request-id');
    const output = await response.text();
    const isStream = response.headers.get('content-type').startsWith('text/event-stream');
    const isWhole = !isStream || /\n\ndata: \[DONE\]\s*$/.test(output);
    expect(response.status === 200 && id && isWhole, `a response to ${command}`, output);
    const tokens = (name) => Number(new RegExp(`.*"${name}": ?(\\d+)`, 's').exec(output)?.[1] ?? 0);
    const [input, cached, generated] = ['prompt_tokens', 'cached_tokens', 'completion_tokens'].map(tokens);
    const price = (input - cached) * NANO_USD.input + cached * NANO_USD.cached + generated * NANO_USD.output;
    const ledger = ['npm', 'run', 'ledger', '--', id, ...this.stateOption];
    let record = '';
    const isFound = async () => (record = await this.run(ledger).catch(() => '')) !== '';
    await until(LEDGER_MS, `request ${id} in the ledger`, isFound);
    const charged = nanoUsd(/"chargedUsd": "([\d.]+)"/.exec(record)?.[1]);
    expect(generated > 0 && charged === price, `a charge of ${price} nano-USD`, `${record}\n${output}`);
    const entries = [...record.matchAll(/^ +(-?\d+(?:\.\d+)?) {2}/gm)].map(([, amount]) => nanoUsd(amount));
    expect(entries.includes(-price) && entries.reduce((sum, one) => sum + one) === 0, 'balanced entries', record);
  }

  /** Runs `npm start` and waits for a line: by default for the one that programs wait for. */
  async start(env = {}, line = /^ready: http:\S+$/m) {
    /** Process IDs by name; empty until the system is ready. */
    this.pids = {};
    this.end = null;
    this.npm = this.spawn(['npm', 'start', '--', ...this.stateOption], env);
    // A prompt that returns during the stop could lead to the next start too early.
    this.npm.once('exit', (code) => (this.end = { code, isEarly: this.alive().includes('starter') }));
    await until(
      READY_MS,
      `a line ${line}`,
      () => line.test(this.output) || this.end !== null,
      () => this.output,
    );
    expect(this.end === null, `a line ${line} before the end`, this.output);
    if (existsSync(this.runningFile)) this.pids = this.running.pids;
  }

  get output() {
    return this.npm.output;
  }

  get running() {
    return JSON.parse(readFileSync(this.runningFile, 'utf8'));
  }

  /** The two printed commands, plain and streamed, as a reader would copy them. */
  get printed() {
    const commands = [...this.output.matchAll(/^curl (?:.*\\\n)*.*$/gm)].map(([text]) => text);
    expect(commands.length === 2, 'two printed commands', this.output);
    return commands;
  }

  /** Sends the signal to the whole foreground group, as a terminal does. */
  pressCtrlC() {
    process.kill(-this.npm.pid, 'SIGINT');
  }

  /** Names of running processes. Checks the last ones first, so that none seems to end early. */
  alive() {
    const names = Object.keys(this.pids).sort((a, b) => rank(b) - rank(a));
    return names.filter((name) => this.pids[name].some(isAlive));
  }

  /** Waits until npm and all processes have ended. Returns their names in that order. */
  async ended(ms) {
    let order = [];
    const isOver = () => {
      const alive = this.alive();
      const gone = Object.keys(this.pids).filter((name) => !alive.includes(name) && !order.includes(name));
      order = [...order, ...gone.sort((a, b) => rank(a) - rank(b))];
      return this.end !== null && alive.length === 0;
    };
    await until(ms, 'no process left', isOver, () => `${this.alive().join(', ')}\n${this.output}`);
    return order.filter((name) => name !== 'starter');
  }

  /** Stops the system with one Ctrl-C, which ends its processes in order. */
  async stop() {
    this.pressCtrlC();
    const ranks = (await this.ended(STOP_MS)).map(rank);
    expect(
      ranks.every((one, at) => at === 0 || one >= ranks[at - 1]),
      `the order ${STOP_ORDER.join(', ')}`,
      this.output,
    );
    expect([0, 130, null].includes(this.end.code) && !this.end.isEarly, 'npm to end after the starter', this.output);
    const isOnce = /^stopped$/m.test(this.output) && !/at once$/m.test(this.output);
    expect(isOnce && !existsSync(this.runningFile), 'one orderly stop', this.output);
  }
}

/** Reports whether a process runs. One in state Z has ended and was not reaped yet. */
function isAlive(pid) {
  try {
    return !/.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Returns the name of a process; empty if it has just ended. */
function nameOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8');
  } catch {
    return '';
  }
}

/** Lists the processes of the namespace, except its first one and this one. */
function leftProcesses() {
  const pids = readdirSync('/proc').filter((name) => Number(name) > 1 && Number(name) !== process.pid);
  return pids.filter(isAlive).map(nameOf).join('');
}

/** Sends a printed request without curl, which the bare root lacks. */
function send(command) {
  const [, url, key, body] = /(http:\S+).*(Bearer [^']+).*-d '(.*)'/s.exec(command);
  const headers = { authorization: key, 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(CALL_MS) });
}

function collectOutput(child) {
  child.output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => (child.output += text));
  return child;
}

async function step(title, work) {
  console.log(title);
  const startedAt = performance.now();
  await work();
  console.log(`  ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
}

/** Runs a command to its end and returns its output. */
function run(command, args, settings = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', ...settings });
  expect(status === 0, `"${command} ${args.join(' ')}" to succeed`, error?.message ?? stdout + stderr);
  return stdout;
}

async function until(ms, what, isTrue, seen = () => '') {
  for (const end = performance.now() + ms; !(await isTrue()); await delay(POLL_MS))
    expect(performance.now() < end, `${what} within ${ms / 1_000} s`, seen());
}

function expect(condition, wanted, seen = '') {
  if (!condition) throw new Error(`expected ${wanted}\n${seen.trimEnd().split('\n').slice(-LINES_SHOWN).join('\n')}`);
}

try {
  if (options.here) await startHere();
  else if (options.inside === undefined) await enterNamespace();
  else await runInside(`${options.inside}/root`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
process.exit();
