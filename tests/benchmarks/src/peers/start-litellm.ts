import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { freePort } from '@gateway/servers';
import { type Cleanup, DIRECTORIES } from '../bench-context.js';
import { startProcess } from '../machine/process.js';
import { PROVIDER_MODELS, type Peer, settleAtOnce } from './peer.js';
import type { Provider } from './start-provider.js';

const PACKAGE = 'litellm[proxy]';
const VERSION = '1.100.0';
const INSTALL_TIMEOUT_MS = 600_000;
/** At its first start it compiles its sources for most of a minute. */
const READY_MS_MAX = 180_000;
const HEALTH_POLL_MS = 200;
const START = 'from litellm import run_server; run_server()';

const run = promisify(execFile);

/**
 * Starts LiteLLM's proxy with one worker and without a database: the usual alternative for Python
 * users.
 * @returns a note for the report if Python or the package is not available
 * @throws Error if it is installed and does not start
 */
export async function startLitellm(
  provider: Provider,
  directory: string,
  ending: Cleanup,
  log: (line: string) => void,
): Promise<Peer | string> {
  let place: string;
  try {
    place = await installOnce(log);
  } catch (error) {
    const lines = (error instanceof Error ? error.message : String(error)).trim().split('\n');
    return `${PACKAGE} ${VERSION} is not available: ${lines.at(-1) ?? ''}`;
  }
  const port = await freePort();
  const config = `${directory}/litellm.yaml`;
  writeFileSync(config, renderLitellmConfig(provider.url));
  const options = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
  const litellm = startProcess({
    name: 'LiteLLM',
    command: `${place}/bin/python`,
    args: ['-c', START, ...options, '--telemetry', 'False'],
    env: {
      HOME: directory,
      LITELLM_MODE: 'PRODUCTION',
      LITELLM_LOG: 'ERROR',
      // Without this, it downloads the list of prices.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    },
    logFile: `${directory}/litellm.log`,
    deathSignal: 'KILL',
  });
  ending.add('LiteLLM', () => litellm.stop());
  await litellm.listening(port, READY_MS_MAX);
  await untilHealthy(`http://127.0.0.1:${port}/health/liveliness`);
  return {
    id: 'litellm',
    title: 'LiteLLM proxy, one worker',
    version: VERSION,
    port,
    headers: [],
    models: PROVIDER_MODELS,
    keyed: false,
    processes: { litellm: [litellm.pid] },
    except: [],
    settle: settleAtOnce,
  };
}

async function untilHealthy(url: string): Promise<void> {
  const until = Date.now() + READY_MS_MAX;
  for (;;) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(READY_MS_MAX) }).catch(() => null);
    if (answer?.ok === true) return;
    if (Date.now() > until) throw new Error('LiteLLM listens, but is not healthy');
    await new Promise((resolve) => setTimeout(resolve, HEALTH_POLL_MS));
  }
}

/** Installs outside the project. The directory is renamed when it is complete. */
async function installOnce(log: (line: string) => void): Promise<string> {
  const place = `${DIRECTORIES.peers}/litellm-${VERSION}`;
  if (existsSync(place)) return place;
  log(`installing ${PACKAGE} ${VERSION}: this takes minutes`);
  const draft = `${place}.draft-${process.pid}`;
  const options = { timeout: INSTALL_TIMEOUT_MS };
  try {
    await mkdir(DIRECTORIES.peers, { recursive: true });
    await run('python3', ['-m', 'venv', draft], options);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `${PACKAGE}==${VERSION}`];
    await run(`${draft}/bin/python`, pip, options);
    await rename(draft, place);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return place;
}

/** Returns the configuration of LiteLLM's proxy, without a key or database. */
export function renderLitellmConfig(providerUrl: string): string {
  const models = [...new Set(Object.values(PROVIDER_MODELS))].map((model) => [
    `  - model_name: ${model}`,
    '    litellm_params:',
    `      model: openai/${model}`,
    `      api_base: ${providerUrl}/v1`,
    '      api_key: none',
  ]);
  return ['model_list:', ...models.flat(), 'litellm_settings:', '  telemetry: false', '  num_retries: 0', ''].join(
    '\n',
  );
}
