import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeSecret, DEFAULT_KEY_PREFIX } from '@gateway/contracts/ids';
import { fetchDebianPackages, freePort, libraryPath, packageDirectory } from '@gateway/servers';
import { until } from '@gateway/testkit';
import { type BenchContext, DIRECTORIES, messageOf } from '../context.js';
import { PROVIDER_MODELS, type Peer, type PeerId } from '../edge/scenarios.js';
import { type ProgramOptions, startProgram } from '../machine/programs.js';

const PORTKEY = { package: '@portkey-ai/gateway', version: '1.15.2' } as const;
const LITELLM = { package: 'litellm[proxy]', version: '1.100.0' } as const;
const INSTALL_TIMEOUT_MS = 600_000;
/** At its first start LiteLLM compiles its sources for most of a minute. */
const LITELLM_READY_MS = 180_000;
/** Connections of nginx: two per open stream, plus reserve. */
const CONNECTIONS_MAX = 16_384;

const run = promisify(execFile);

/** The provider's port, state directory and context of the start of a peer. */
interface Start {
  readonly providerPort: number;
  readonly directory: string;
  readonly context: BenchContext;
}

const urlOf = ({ providerPort }: Start): string => `http://127.0.0.1:${providerPort}`;
const moduleFile = (name: string, from = import.meta.url): string => fileURLToPath(new URL(name, from));

/** Starts the provider simulator. All peers use it. Returns its process ID. */
export function startProvider({ providerPort: port, directory, context }: Start): Promise<number> {
  const args = [moduleFile('main.js', import.meta.resolve('@gateway/provider-simulator'))];
  const env = {
    GATEWAY_SIMULATOR_PORTS: `${port},0`,
    // Milliseconds between the events of a stream. Without them, several chunks share a packet.
    GATEWAY_SIMULATOR_CHUNK_DELAY_MS: '1',
  };
  const program = { title: 'the provider', command: process.execPath, args, env, logFile: `${directory}/provider.log` };
  return startProgram({ ...program, port }, context.ending);
}

/** Starts a peer other than a gateway of this project. @throws Error if it is not available */
export async function startPeer(id: Exclude<PeerId, 'gateway'>, start: Start): Promise<Peer> {
  const title = 'direct call to the provider simulator';
  if (id === 'direct') return createPeer({ id, title, version: '', port: start.providerPort });
  return { nginx: startNginx, relay: startRelay, portkey: startPortkey, litellm: startLitellm }[id](start);
}

type Described = Pick<Peer, 'id' | 'title' | 'version' | 'port'> & Partial<Peer>;

/** Returns a peer whose work ends with the response. Its requests have the size of others. */
function createPeer(peer: Described): Peer {
  const usual = { headers: [], models: PROVIDER_MODELS, processes: {}, except: [], settle: () => Promise.resolve() };
  return { ...usual, secrets: [makeSecret(DEFAULT_KEY_PREFIX)], ...peer };
}

async function startProxy(
  { directory, context }: Start,
  peer: Described,
  program: Pick<ProgramOptions, 'command' | 'args' | 'env'>,
  readyMs?: number,
): Promise<Peer> {
  const options = { ...program, title: peer.title, port: peer.port, logFile: `${directory}/${peer.id}.log` };
  return createPeer({ ...peer, processes: { [peer.id]: [await startProgram(options, context.ending, readyMs)] } });
}

/** Starts the bare relay of `relay-main.ts`, which shows the cost of Node without a gateway. */
async function startRelay(start: Start): Promise<Peer> {
  const port = await freePort();
  const title = 'bare relay: node:http, undici dispatch';
  const args = [moduleFile('relay-main.js'), String(port), urlOf(start)];
  const program = { command: process.execPath, args, env: { NODE_ENV: 'production' } };
  return startProxy(start, { id: 'relay', title, version: process.version, port }, program);
}

/** Starts Portkey, which only routes: it has no accounts, limits or money. */
async function startPortkey(start: Start): Promise<Peer> {
  const { package: name, version } = PORTKEY;
  const place = await installOnce(`portkey-${version}`, start.context, async (draft) => {
    const options = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund'];
    const args = ['install', '--prefix', draft, ...options, `${name}@${version}`];
    await run('npm', args, { cwd: draft, timeout: INSTALL_TIMEOUT_MS });
  });
  const port = await freePort();
  const headers = [
    ['x-portkey-provider', 'openai'],
    ['x-portkey-custom-host', `${urlOf(start)}/v1`],
  ] as const;
  const args = [`${place}/node_modules/${name}/build/start-server.js`, '--headless', `--port=${port}`];
  const program = { command: process.execPath, args, env: { NODE_ENV: 'production' } };
  return startProxy(start, { id: 'portkey', title: name, version, port, headers }, program);
}

/** Starts LiteLLM's proxy with one worker and without a database. */
async function startLitellm(start: Start): Promise<Peer> {
  const { package: name, version } = LITELLM;
  const place = await installOnce(`litellm-${version}`, start.context, async (draft) => {
    await run('python3', ['-m', 'venv', draft], { timeout: INSTALL_TIMEOUT_MS });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `${name}==${version}`];
    await run(`${draft}/bin/python`, pip, { timeout: INSTALL_TIMEOUT_MS });
  });
  const port = await freePort();
  const config = `${start.directory}/litellm.yaml`;
  writeFileSync(config, renderLitellmConfig(urlOf(start)));
  const options = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
  // Without the last variable, it downloads the list of prices.
  const mode = { LITELLM_MODE: 'PRODUCTION', LITELLM_LOG: 'ERROR', LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
  const program = {
    command: `${place}/bin/python`,
    args: ['-c', 'from litellm import run_server; run_server()', ...options, '--telemetry', 'False'],
    env: { HOME: start.directory, ...mode },
  };
  const peer = { id: 'litellm', title: 'LiteLLM proxy, one worker', version, port };
  const started = await startProxy(start, peer, program, LITELLM_READY_MS);
  const isHealthy = () => fetch(`http://127.0.0.1:${port}/health/liveliness`).then(({ ok }) => ok, messageOf);
  await until('LiteLLM is healthy', async () => (await isHealthy()) === true, LITELLM_READY_MS);
  return started;
}

/** Returns the configuration of LiteLLM's proxy, without a key or database. */
export function renderLitellmConfig(providerUrl: string): string {
  const models = [...new Set(Object.values(PROVIDER_MODELS))].flatMap((model) => [
    `  - model_name: ${model}`,
    '    litellm_params:',
    `      model: openai/${model}`,
    `      api_base: ${providerUrl}/v1`,
    '      api_key: none',
  ]);
  return ['model_list:', ...models, 'litellm_settings:', '  telemetry: false', '  num_retries: 0', ''].join('\n');
}

/** Installs outside the project. The directory is renamed when it is complete. */
async function installOnce(
  name: string,
  { log }: BenchContext,
  install: (draft: string) => Promise<void>,
): Promise<string> {
  const place = `${DIRECTORIES.peers}/${name}`;
  if (existsSync(place)) return place;
  log(`installing ${name}: this may take minutes`);
  const draft = `${place}.draft-${process.pid}`;
  try {
    await mkdir(draft, { recursive: true });
    await install(draft);
    await rename(draft, place);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return place;
}

/** Starts nginx as a plain reverse proxy with one worker and without buffering. */
async function startNginx(start: Start): Promise<Peer> {
  const { path, env } = await findNginx(start.context.log);
  const port = await freePort();
  const home = `${start.directory}/nginx`;
  mkdirSync(home);
  writeFileSync(`${home}/nginx.conf`, renderNginxConfig(home, port, start.providerPort));
  const { stderr } = spawnSync(path, ['-v'], { env, encoding: 'utf8' });
  const version = /nginx\/([\d.]+)/.exec(stderr)?.[1] ?? 'unknown';
  const args = ['-p', home, '-c', `${home}/nginx.conf`, '-e', 'stderr'];
  return startProxy(start, { id: 'nginx', title: 'nginx, reverse proxy', version, port }, { command: path, args, env });
}

const NGINX_KEPT_ALIVE = 'keepalive_requests 1000000000; keepalive_time 1d;';

function renderNginxConfig(home: string, port: number, providerPort: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${home}/${name};`,
  );
  return `${process.getuid?.() === 0 ? 'user nobody nogroup;' : ''}
daemon off; worker_processes 1; pid ${home}/nginx.pid; worker_rlimit_nofile ${CONNECTIONS_MAX};
events { worker_connections ${CONNECTIONS_MAX}; }
http {
  access_log off; ${temporary.join(' ')}
  upstream provider { server 127.0.0.1:${providerPort}; keepalive 256; ${NGINX_KEPT_ALIVE} }
  server {
    listen 127.0.0.1:${port}; client_body_buffer_size 1m; ${NGINX_KEPT_ALIVE}
    location / {
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }
  }
}
`;
}

/**
 * Finds the system's nginx, or unpacks Debian's package with its missing libraries once into the
 * cache directory. Needs no root and installs nothing. @throws Error if neither is available
 */
async function findNginx(log: (line: string) => void): Promise<{ path: string; env: Record<string, string> }> {
  const path = '/usr/sbin/nginx';
  if (existsSync(path)) return { path, env: {} };
  const place = await packageDirectory(DIRECTORIES.debian, 'nginx');
  if (!existsSync(place)) await fetchDebianPackages(['nginx'], place, log, () => Promise.resolve(null));
  return { path: `${place}${path}`, env: await libraryPath(place) };
}
