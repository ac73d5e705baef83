// `npm run check:compose [-- --built | <options of npm run images>]`: starts docker-compose.yml as
// a newcomer does, with its own project name, ports and volumes, and checks what README.md
// promises: the printed first request, sign-in, the secrets of each container, restarts and an
// upgrade under requests, backup and restore, stop and second start, and the profiles `observe` and
// `tls`. Prints the figures. Exit 3: no container engine responds.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { parse } from 'yaml';
import { SECRETS_TABLE } from '../../tools/operations/dist/secrets/table.js';
import { compareLedger, readCharges, startLoad } from '../helm/cluster/load.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NEXT = 'check';
const WAIT_MS = 300_000;
const POLL_MS = 250;
const REQUEST_EVERY_MS = 100;
/** Time without a disturbance after each step under load. */
const REST_MS = 3_000;
/** Shortest time between the first and the last event of a stream. */
const STREAM_SECONDS = 1;
const version = process.env.IMAGE_VERSION ?? JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')).version;
const { values } = parseArgs({ strict: false, options: { built: { type: 'boolean' } } });
const { services } = parse(readFileSync(`${ROOT}docker-compose.yml`, 'utf8'), { merge: true, maxAliasCount: -1 });
/** Ports that are unlikely to be in use. */
const ports = { GATEWAY: 18_080, DASHBOARD: 18_081, OPERATOR: 18_082, MAILBOX: 18_025, HTTPS: 18_443, HTTP: 18_088 };
Object.assign(ports, { GRAFANA: 18_300, PROMETHEUS: 18_091, ALERTMANAGER: 18_093 });
const env = {
  ...process.env,
  COMPOSE_PROJECT_NAME: 'gateway-check',
  COMPOSE_PROFILES: 'evaluation',
  ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [`${name}_LISTEN`, `127.0.0.1:${port}`])),
  GATEWAY_PUBLIC_URL: `http://127.0.0.1:${ports.GATEWAY}`,
  GATEWAY_DASHBOARD_URL: `http://127.0.0.1:${ports.DASHBOARD}`,
};
const succeeds = (...command) => spawnSync(command[0], command.slice(1), { env, stdio: 'ignore' }).status === 0;
const engine = ['docker', 'podman'].find((name) => succeeds(name, 'info'));
const composer = [[engine ?? 'docker', 'compose'], ['docker-compose']].find((words) => succeeds(...words, 'version'));
if (engine === undefined || composer === undefined) {
  console.log(`check:compose was not run: ${engine === undefined ? 'no docker or podman responds' : 'no compose'}`);
  process.exit(3);
}
const run = async (command, ...args) =>
  (await promisify(execFile)(command, args, { cwd: ROOT, env, maxBuffer: 1 << 28 })).stdout;
const compose = (...args) => run(composer[0], ...composer.slice(1), ...args);
/** With every profile, because Compose 2 leaves containers of other profiles. */
const clear = () => {
  env.COMPOSE_PROFILES = 'evaluation,backup,observe,tls';
  return compose('down', '--volumes', '--timeout', '5');
};
/** Refused requests by the restarted service. */
const refusals = [];
/** Services whose image is neither there nor has a stand-in. */
const absent = [];
/** Programs with metrics. */
const PROGRAMS = 6;
/** The spans of a request at the edge, in admission and in billing. */
const TRACED = 'count(count by (service_name) (gateway_spans_calls_total)) >= 3';
/** Panels that are empty in the second start until something fails, changes, is sent or streams. */
const OF_EVENTS =
  /"failed|unreachable|_errors_|5xx|_shed_|_refusals_|_unconfirmed_|_webhook_|_emails_|_propagation_|_changes_|_loads_|_revalidated_|first_token/;

try {
  await clear();
  env.COMPOSE_PROFILES = 'evaluation';
  const standIns = await provideImages();
  if (!values.built)
    await step('built', () => run(process.execPath, 'deploy/docker/images.mjs', ...process.argv.slice(2)));
  const { text, requests } = await step('started', start);
  const [id] = await step('first requests answered and found in the ledger', () => Promise.all(requests.map(paste)));
  await step('signed in', () => signIn(text));
  await liftLimits(text);
  await step('containers and their secrets', checkContainers);
  await step('restarted under requests', restartEach);
  await step('upgraded under requests', upgrade);
  await step('backed up and restored', backUpAndRestore);
  await step('stopped', () => compose('down'));
  await step('started again', async () => {
    const again = await start();
    if (again.text !== text) throw new Error(`the second start printed:\n${again.text}`);
    await findInLedger(id);
    await Promise.all(requests.map(paste));
  });
  await step('alerts emailed', observe);
  await step('stream through TLS', checkTls);
  report(standIns);
} finally {
  await clear();
}

async function step(name, work) {
  const at = performance.now();
  const result = await work();
  console.log(`== ${name}: ${((performance.now() - at) / 1000).toFixed(0)} s`);
  return result;
}

async function until(what, check) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
    const found = await check().catch(() => undefined);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${what}: not within ${WAIT_MS / 1000} s`);
}

/** Starts everything and returns what `first-request` prints, with its two commands. */
async function start() {
  await compose('up', '-d');
  const text = await until('first-request ends', async () => {
    const { State } = (await containers())['first-request'];
    return State.Status === 'exited' && State.ExitCode === 0 && compose('logs', '--no-log-prefix', 'first-request');
  });
  const last = text.slice(text.lastIndexOf('gateway  '));
  return { text: last, requests: last.match(/^curl .*$/gm) ?? [] };
}

/** Returns the containers of the project by service, as the engine describes them. */
async function containers() {
  const project = `label=com.docker.compose.project=${env.COMPOSE_PROJECT_NAME}`;
  const ids = await run(engine, 'ps', '-aq', '--filter', project, '--filter', 'label=com.docker.compose.oneoff=False');
  const all = JSON.parse(await run(engine, 'inspect', ...ids.trim().split('\n')));
  return Object.fromEntries(all.map((one) => [one.Config.Labels['com.docker.compose.service'], one]));
}

/** Runs a printed command and returns the ID of its request when the ledger has it. */
async function paste(command) {
  const stdout = await run('sh', '-c', command.replace('curl ', 'curl -s '));
  if (!/^HTTP\S+ 200/.test(stdout)) throw new Error(`${command}\n${stdout}`);
  const id = /^x-gateway-request-id: (\S+)/im.exec(stdout)?.[1] ?? '';
  await findInLedger(id);
  return id;
}

/** Waits until the documented command prints the record. */
function findInLedger(id) {
  return until(`${id} is in the ledger`, () => compose('run', '--rm', 'operate', 'ledger', id));
}

function printed(text, name) {
  return new RegExp(`^${name} +(.*)$`, 'm').exec(text)?.[1] ?? '';
}

/** Signs the demo user and the first operator in on the pages, and finds the user's email. */
async function signIn(text) {
  const [email, password] = printed(text, 'demo sign-in').split('  ');
  const bodies = { '/sign-in': { email, password }, '/operator/sign-in': { token: printed(text, 'operator token') } };
  for (const [path, body] of Object.entries(bodies)) {
    const response = await post(`${env.GATEWAY_DASHBOARD_URL}/api${path}`, body);
    if (response.status !== 200 || response.headers.getSetCookie().length === 0) {
      throw new Error(`${path}: ${response.status} ${await response.text()}`);
    }
  }
  const mails = await (await fetch(`http://127.0.0.1:${ports.MAILBOX}`)).text();
  if (!mails.includes(email)) throw new Error('the page of the mailbox lacks the email');
}

function post(url, body, headers = {}) {
  const all = { 'content-type': 'application/json', ...headers };
  return fetch(url, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

/** Checks each running container from inside, and that a second `init` changes no secret. */
async function checkContainers() {
  for (const [service, { Id, State, HostConfig, Mounts }] of Object.entries(await containers())) {
    if (!State.Running) continue;
    const status = await run(engine, 'exec', Id, 'cat', '/proc/1/status');
    const [, uid, capabilities] = /^Uid:\t(\d+)[^]*^CapEff:\t(\w+)$/m.exec(status) ?? [];
    const isClosed = uid !== '0' && /^0+$/.test(capabilities) && HostConfig.ReadonlyRootfs && HostConfig.Memory > 0;
    if (!isClosed) throw new Error(`${service}: user ${uid}, capabilities ${capabilities}, ${HostConfig.Memory} bytes`);
    const mounted = Mounts.filter(({ Name }) => Name?.includes('secrets-')).map(
      ({ Name }) => Name.split('secrets-')[1],
    );
    const files = mounted.length === 0 ? '' : await run(engine, 'exec', Id, 'ls', '/run/secrets');
    const own = Object.keys(SECRETS_TABLE[service] ?? {});
    if (mounted.length > 1 || files.trim().split('\n').filter(Boolean).sort().join() !== own.sort().join()) {
      throw new Error(`${service} has the secrets ${mounted.join()}: ${files}`);
    }
  }
  const list = () =>
    compose('run', '--rm', '--entrypoint', 'sh', 'init', '-c', 'cd /secrets && sha256sum */* && ls -lR');
  const before = await list();
  await compose('run', '--rm', 'init');
  if ((await list()) !== before) throw new Error('a second init changed a secret');
}

/** Sends requests until `work` ends and the system rests. The ledger must have each response. */
async function underLoad(work) {
  const text = await compose('logs', '--no-log-prefix', 'first-request');
  const operator = { url: `http://127.0.0.1:${ports.OPERATOR}`, token: printed(text, 'operator token') };
  const load = { url: env.GATEWAY_PUBLIC_URL, key: printed(text, 'demo API key'), plain: 'openai/gpt-4o-mini' };
  const begunAt = Date.now();
  const lines = [];
  const stop = startLoad({ ...load, callEveryMs: REQUEST_EVERY_MS }, (line) => lines.push(line));
  await work();
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  await stop();
  const differences = async () => compareLedger(lines, await readCharges(operator, begunAt));
  await until('the ledger has each response', async () => (await differences()).length === 0);
  const ids = lines.filter(({ problem }) => problem === null).map(({ id }) => id);
  const refused = lines.length - ids.length;
  console.log(`   ${ids.length} answered and settled, ${refused} refused`);
  return { ids, refused };
}

function coreServices() {
  return Object.keys(services).filter((name) => services[name].healthcheck && !services[name].profiles);
}

function allHealthy() {
  return until('all services are healthy', async () => {
    const found = await containers();
    return coreServices().every((name) => found[name].State.Health?.Status === 'healthy');
  });
}

/** Restarts one service after the other. */
async function restartEach() {
  for (const name of coreServices()) {
    console.log(`   ${name}`);
    const { refused } = await underLoad(async () => {
      await compose('restart', name);
      await allHealthy();
    });
    refusals.push([name, refused]);
  }
}

/** Updates as README.md says, to the same programs with another label. */
async function upgrade() {
  for (const image of new Set(Object.values(services).flatMap(({ build }) => build?.target ?? []))) {
    const file = `FROM gateway/${image}:${version}\nLABEL check=${NEXT}\n`;
    execFileSync(engine, ['build', '-t', `gateway/${image}:${NEXT}`, '-'], { input: file, env, stdio: 'pipe' });
  }
  env.IMAGE_VERSION = NEXT;
  const { refused } = await underLoad(async () => {
    await compose('stop', 'edge-proxy');
    await compose('up', '-d');
    await allHealthy();
  });
  refusals.push(['upgrade', refused]);
  const { 'edge-proxy': edge } = await containers();
  if (edge.Config.Labels.check !== NEXT) throw new Error('the edge runs the old image');
}

/** Follows deploy/docker/README.md#backup. */
async function backUpAndRestore() {
  env.COMPOSE_PROFILES = 'evaluation,backup';
  await compose('up', '-d');
  const list = () => compose('run', '--rm', '--entrypoint', 'sh', 'operate', '-c', 'ls -d /backups/*/backup.json');
  const [file] = (await until('a backup is complete', list)).trim().split('\n');
  await until('the heads are stored', async () => / 0 differences;.*"head"/s.test(await compose('logs', 'audit')));
  const { ids } = await underLoad(() => undefined);
  await compose('stop', 'billing', 'accounts', 'catalog');
  await compose('run', '--rm', 'operate', 'restore', '--from', file.replace('/backup.json', ''));
  await compose('up', '-d');
  await compose('restart', 'redis', 'admission');
  await allHealthy();
  await findInLedger(ids.at(-1));
}

/**
 * Every target is up, a trace and the data of each panel arrive, and an alert becomes an email.
 * Leaves out images that are not there.
 */
async function observe() {
  const listed = parse(readFileSync(`${ROOT}deploy/helm/model-gateway/files/images.yaml`, 'utf8')).services;
  const observers = Object.keys(services).filter((name) => services[name].profiles?.includes('observe'));
  const present = observers.filter((name) => succeeds(engine, 'image', 'inspect', listed[name].image));
  absent.push(...observers.filter((name) => !present.includes(name)));
  Object.assign(env, { COMPOSE_PROFILES: 'evaluation,backup,observe', GATEWAY_TRACE_RATIO: '1' });
  env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318';
  await compose('up', '-d', ...coreServices(), ...present);
  const traced = present.includes('collector') ? [TRACED] : [];
  await until('every target is up', async () => (await query('up == 1')).length === PROGRAMS + traced.length);
  await underLoad(() => undefined);
  for (const spans of traced) await until('traces arrive', async () => (await query(spans)).length > 0);
  for (const panel of readPanels()) await until(panel, async () => (await query(panel)).length > 0);
  const alert = { labels: { alertname: 'CheckOfCompose', severity: 'info', gateway: 'compose' } };
  await post(`http://127.0.0.1:${ports.ALERTMANAGER}/api/v2/alerts`, [alert]);
  const page = async () => (await fetch(`http://127.0.0.1:${ports.MAILBOX}`)).text();
  await until('the alert is an email', async () => (await page()).includes('CheckOfCompose'));
  if (absent.includes('grafana')) return;
  await until('Grafana is ready', async () => (await fetch(`http://127.0.0.1:${ports.GRAFANA}/api/health`)).ok);
}

async function query(text) {
  const url = `http://127.0.0.1:${ports.PROMETHEUS}/api/v1/query?${new URLSearchParams({ query: text })}`;
  const { data, error } = await (await fetch(url)).json();
  if (error !== undefined) throw new Error(`${text}: ${error}`);
  return data.result;
}

/** Returns the queries of all panels that have data. */
function readPanels() {
  const directory = `${ROOT}deploy/observe/grafana/dashboards/`;
  return readdirSync(directory)
    .flatMap((file) => JSON.parse(readFileSync(directory + file, 'utf8')).panels)
    .flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$gateway', 'compose')))
    .filter((expr) => !OF_EVENTS.test(expr));
}

/** The demo account may send the load. */
async function liftLimits(text) {
  const headers = { authorization: `Bearer ${printed(text, 'operator token')}`, 'content-type': 'application/json' };
  const api = `http://127.0.0.1:${ports.OPERATOR}/operator/v1/accounts`;
  const [{ id }] = (await (await fetch(api, { headers })).json()).data;
  const body = JSON.stringify({ requestsPerMinute: 100_000, concurrency: 100 });
  const { status } = await fetch(`${api}/${id}/limits`, { method: 'PUT', headers, body });
  if (status !== 200) throw new Error(`the limits were not set: ${status}`);
}

/** A slow stream through the proxy arrives event by event. */
async function checkTls() {
  Object.assign(env, {
    COMPOSE_PROFILES: 'evaluation,tls',
    GATEWAY_PUBLIC_URL: 'https://gateway.localhost',
    GATEWAY_DASHBOARD_URL: 'https://dashboard.localhost',
    GATEWAY_EDGE_PROXIES: '1',
    GATEWAY_DASHBOARD_PROXIES: '1',
    GATEWAY_SIMULATOR_CHUNK_DELAY_MS: '100',
  });
  const { text, requests } = await start();
  const [, stream = ''] = requests;
  const connect = `--connect-to gateway.localhost:443:127.0.0.1:${ports.HTTPS}`;
  const times = "-so /dev/null -w '%{http_code} %{time_starttransfer} %{time_total}'";
  const send = () => run('sh', '-c', stream.replace('curl -iN', `curl -Nk ${connect} ${times}`));
  const [status, first, total] = (await until('the proxy answers', send)).split(' ').map(Number);
  if (status !== 200 || total - first < STREAM_SECONDS) throw new Error(`${status}: ${first} s of ${total} s\n${text}`);
}

/** Makes stand-ins of images that cannot be pulled, and returns their names. */
async function provideImages() {
  await run(process.execPath, 'deploy/docker/stand-ins.mjs');
  const listed = await run(engine, 'images', '--filter', 'label=gateway.stand-in', '--format', '{{.Repository}}');
  return [
    ...new Set(listed.split('\n').filter((name) => name !== '' && name !== '<none>' && !/(^|\/)gateway\//.test(name))),
  ];
}

/** Prints what docs/verification.md quotes. */
function report(standIns) {
  console.log(execFileSync('git', ['describe', '--always', '--dirty'], { cwd: ROOT, encoding: 'utf8' }).trim());
  console.log(`refused, at ${1000 / REQUEST_EVERY_MS} requests per second:`, Object.fromEntries(refusals));
  console.log(`stand-ins: ${standIns.join(', ') || 'none'}; not there: ${absent.join(', ') || 'none'}`);
}
