import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { freePort } from '@gateway/servers';
import { type Cleanup, DIRECTORIES } from '../bench-context.js';
import { startProcess } from '../machine/process.js';
import { PROVIDER_MODELS, type Peer, settleAtOnce } from './peer.js';
import type { Provider } from './start-provider.js';

const PACKAGE = '@portkey-ai/gateway';
const VERSION = '1.15.2';
const INSTALL_TIMEOUT_MS = 180_000;

/** Starts Portkey, which only routes: it has no accounts, limits or money. */
export async function startPortkey(
  provider: Provider,
  directory: string,
  ending: Cleanup,
  log: (line: string) => void,
): Promise<Peer> {
  const place = await installOnce(log);
  const port = await freePort();
  const portkey = startProcess({
    name: 'Portkey',
    command: process.execPath,
    args: [`${place}/node_modules/${PACKAGE}/build/start-server.js`, '--headless', `--port=${port}`],
    env: { NODE_ENV: 'production' },
    logFile: `${directory}/portkey.log`,
    deathSignal: 'KILL',
  });
  ending.add('Portkey', () => portkey.stop());
  await portkey.listening(port);
  return {
    id: 'portkey',
    title: PACKAGE,
    version: VERSION,
    port,
    headers: [
      ['x-portkey-provider', 'openai'],
      ['x-portkey-custom-host', `${provider.url}/v1`],
    ],
    models: PROVIDER_MODELS,
    keyed: false,
    processes: { portkey: [portkey.pid] },
    except: [],
    settle: settleAtOnce,
  };
}

/** Installs outside the project. The directory is renamed when it is complete. */
async function installOnce(log: (line: string) => void): Promise<string> {
  const place = `${DIRECTORIES.peers}/portkey-${VERSION}`;
  if (existsSync(place)) return place;
  log(`installing ${PACKAGE} ${VERSION}`);
  const draft = `${place}.draft-${process.pid}`;
  try {
    await mkdir(draft, { recursive: true });
    const options = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund'];
    await promisify(execFile)('npm', ['install', '--prefix', draft, ...options, `${PACKAGE}@${VERSION}`], {
      cwd: draft,
      timeout: INSTALL_TIMEOUT_MS,
    });
    await rename(draft, place);
  } catch (error) {
    throw new Error(`${PACKAGE} could not be installed: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return place;
}
