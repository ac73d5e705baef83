// `npm run check:image [-- --node PATH] [--quick]`: tests recipe and compose file without a
// container engine. Runs the steps of the build stage in a copy of the checkout. Then starts every
// program from its image's files alone, with the environment of docker-compose.yml and secrets in
// files, and unprivileged if this is root. Applies a catalog, creates an account with a key, sends
// a request and finds it in the ledger. `--quick` uses the compiled code of this checkout instead
// of the build steps. Layers, namespaces and the base image need an engine and are not tested.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { startServers, freePort, withoutLentServers } from '@gateway/servers';
import { composeSecrets, makeRoot } from '../../tools/operations/dist/compose-secrets.js';
import { ROOT } from './image-contents.mjs';
import { readRecipe } from './recipe.mjs';

const NOBODY = 65532;
const READY_MS = 60_000;
const STOP_MS = 30_000;
const MODEL = 'demo/small';

const { values } = parseArgs({ options: { node: { type: 'string' }, quick: { type: 'boolean' } } });
const node = values.node ?? process.execPath;
const recipe = readRecipe();
const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true });
const programs = Object.entries(compose.services).filter(([, { build }]) => build !== undefined);
const work = mkdtempSync(join(tmpdir(), 'gateway-image-'));
chmodSync(work, 0o755);
const secrets = composeSecrets(makeRoot());
const children = [];
let servers;

try {
  const images = values.quick ? stageImages() : buildImages();
  servers = await startOwnServers();
  const world = await place(images);
  run('migrate', world, 'migrated');
  run('migrate', world, 'migrated again');
  const started = programs.filter(([name]) => name !== 'migrate');
  await Promise.all(started.map(([name]) => start(name, world)));
  await makeOneCall(world);
  await stopAll();
} finally {
  for (const { child } of children) child.kill('SIGKILL');
  await Promise.all(Object.values(servers ?? {}).map((server) => server.stop()));
  rmSync(work, { recursive: true, force: true });
}

/** Runs the build stage: the steps before `ARG ROOM` once, the others for each package. */
function buildImages() {
  const src = join(work, 'src');
  mkdirSync(src);
  const listed = 'git ls-files -z --cached --others --exclude-standard';
  shell(`${listed} | tar -c --null --ignore-failed-read -T - 2>/dev/null | tar -x -C "${src}"`, ROOT);
  const { steps } = recipe.stages[0];
  const at = steps.findIndex(({ instruction }) => instruction === 'ARG');
  runSteps(steps.slice(0, at), src, {});
  return programs.map(([name, { build }]) => {
    runSteps(steps.slice(at + 1), src, { ROOM: build.args.ROOM });
    const directory = join(work, 'images', name);
    cpSync(join(src, 'out'), directory, { recursive: true });
    rmSync(join(src, 'out'), { recursive: true });
    const { components } = JSON.parse(readFileSync(join(directory, 'sbom.cdx.json'), 'utf8'));
    const [megabytes] = shell(`du -sm --apparent-size "${directory}"`, ROOT).split('\t');
    console.log(`${name}: ${megabytes} MB, ${components.length} components`);
    return { name, directory };
  });
}

function stageImages() {
  return programs.map(([name, { build }]) => {
    const directory = join(work, 'images', name);
    runSteps([{ instruction: 'RUN', text: `node deploy/docker/stage-image.mjs "$ROOM" "${directory}"` }], ROOT, {
      ROOM: build.args.ROOM,
    });
    return { name, directory };
  });
}

function runSteps(steps, cwd, args) {
  for (const { instruction, text } of steps) {
    if (instruction !== 'RUN') continue;
    shell(text.replace(/--mount=\S+ /, ''), cwd, args);
  }
}

/** Runs a command and returns its output. */
function shell(command, cwd, args = {}) {
  const { status, stdout } = spawnSync('/bin/sh', ['-ec', command], {
    cwd,
    env: { PATH: `${dirname(node)}:${process.env.PATH}`, HOME: process.env.HOME, ...args },
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`the step failed with ${status}: ${command}`);
  return stdout;
}

function startOwnServers() {
  const [defaultUser, admission] = secrets['redis-users.acl']
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  return startServers(['postgres', 'nats', 'redis'], {
    stateDirectory: join(work, 'servers'),
    postgres: { superuserPassword: secrets['postgres-password'] },
    nats: {
      config: secrets['nats-authorization.conf'],
      credentials: { user: 'dashboard', password: new URL(secrets['dashboard-nats-url']).password },
    },
    redis: { password: secrets['redis-password'], users: [defaultUser, admission] },
    env: withoutLentServers(),
  });
}

/**
 * Writes secrets to files, with the addresses of the test servers instead of compose's hosts, and
 * chooses ports.
 */
async function place(images) {
  const directory = join(work, 'secrets');
  mkdirSync(directory);
  for (const [name, text] of Object.entries(secrets)) {
    const here = text.replace(/@(postgres|nats|redis):\d+/, (_, server) => `@${new URL(servers[server].url).host}`);
    writeFileSync(join(directory, name), here.replace(/\/gateway$/, '/postgres'));
  }
  const ports = {};
  for (const [name] of programs)
    ports[name] = { admin: await freePort(), first: await freePort(), second: await freePort() };
  return { images, secrets: directory, ports };
}

function environmentOf(name, { secrets, ports }) {
  const valueOf = (text) => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1').replace('/run/secrets', secrets);
  const given = Object.entries(compose.services[name].environment);
  const env = Object.fromEntries(given.map(([key, value]) => [key, valueOf(String(value))]));
  const { admin, first, second } = ports[name];
  const replace = {
    // As in the command of README.md, because the simulator has a private address.
    GATEWAY_ALLOW_PRIVATE_SOURCES: 'on',
    GATEWAY_ADMIN_PORT: admin,
    GATEWAY_PORT: first,
    GATEWAY_OPERATOR_PORT: first,
    GATEWAY_DASHBOARD_PORT: second,
    GATEWAY_SIMULATOR_PORTS: `${first},${second}`,
  };
  for (const [key, value] of Object.entries(replace)) if (key in env) env[key] = String(value);
  return env;
}

/** Returns the recipe's entry point, run in the files of the image. */
function commandOf(name, world) {
  const directory = world.images.find((image) => image.name === name).directory;
  const [, ...args] = JSON.parse(recipe.entryPoint);
  const asNobody =
    process.getuid() === 0 ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'] : [];
  const [command, ...rest] = [...asNobody, node, ...args];
  return [command, rest, { cwd: directory, env: environmentOf(name, world) }];
}

function run(name, world, text) {
  const [command, args, options] = commandOf(name, world);
  const { status, stdout, stderr } = spawnSync(command, args, { ...options, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} ended with ${status}:\n${stdout}${stderr}`);
  console.log(text);
}

async function start(name, world) {
  const [command, args, options] = commandOf(name, world);
  const logFile = join(work, `${name}.log`);
  const log = openSync(logFile, 'w');
  const child = spawn(command, args, { ...options, stdio: ['ignore', log, log] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  children.push({ name, child, ended });
  const until = Date.now() + READY_MS;
  while (Date.now() < until && child.exitCode === null) {
    const ready = await fetch(`http://127.0.0.1:${world.ports[name].admin}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return void console.log(`${name}: ready`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${name} is not ready:\n${readFileSync(logFile, 'utf8')}`);
}

/** Follows the steps of deploy/docker/README.md. */
async function makeOneCall({ ports }) {
  const operator = `http://127.0.0.1:${ports.dashboard.first}/operator/v1`;
  const ask = async (method, path, body) => {
    const headers = { authorization: `Bearer ${secrets['operator-token']}`, 'content-type': 'application/json' };
    const answer = await fetch(`${operator}${path}`, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const catalog = readFileSync(join(ROOT, 'deploy/docker/demo.yaml'), 'utf8');
  const simulator = `127.0.0.1:${ports['provider-simulator'].first}`;
  await ask('POST', '/apply', parse(catalog.replace('provider-simulator:18181', simulator)));
  const person = { name: 'Ada', email: 'ada@example.com', emailVerified: true, type: 'personal' };
  const { id } = await ask('POST', '/accounts', person);
  const payment = { amountUsd: '20.00', kind: 'credit', reason: 'paid', reference: 'invoice-1' };
  await ask('POST', `/accounts/${id}/wallet/entries`, payment);
  const key = await ask('POST', `/accounts/${id}/keys`, { name: 'first' });
  const answer = await fetch(`http://127.0.0.1:${ports['edge-proxy'].first}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Say hello.' }] }),
  });
  if (answer.status !== 200) throw new Error(`the request failed with ${answer.status}: ${await answer.text()}`);
  const requestId = answer.headers.get('x-gateway-request-id');
  const until = Date.now() + READY_MS;
  for (;;) {
    const record = await ask('GET', `/usage-records/${requestId}`).catch(() => null);
    if (record) return void console.log(`a request was ${record.outcome} for $${record.chargedUsd}`);
    if (Date.now() > until) throw new Error('the request is not in the ledger');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function stopAll() {
  for (const { child } of children) child.kill('SIGTERM');
  const codes = await Promise.all(
    children.map(async ({ name, ended }) => [
      name,
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, STOP_MS, 'late').unref())]),
    ]),
  );
  const wrong = codes.filter(([, code]) => code !== 0);
  if (wrong.length > 0) throw new Error(`did not stop with exit code 0: ${JSON.stringify(wrong)}`);
  console.log('every program stopped with exit code 0');
}
