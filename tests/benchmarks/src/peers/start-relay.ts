import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort } from '@gateway/servers';
import type { Cleanup } from '../bench-context.js';
import { startProcess } from '../machine/process.js';
import { PROVIDER_MODELS, type Peer, settleAtOnce } from './peer.js';
import type { Provider } from './start-provider.js';

/** Starts the bare relay of `relay-main.ts`, which shows the cost of Node without a gateway. */
export async function startRelay(provider: Provider, directory: string, ending: Cleanup): Promise<Peer> {
  const port = await freePort();
  const relay = startProcess({
    name: 'the bare relay',
    command: process.execPath,
    args: [fileURLToPath(new URL('relay-main.js', import.meta.url)), String(port), provider.url],
    env: { NODE_ENV: 'production' },
    logFile: `${directory}/relay.log`,
    deathSignal: 'KILL',
  });
  ending.add('the bare relay', () => relay.stop());
  await relay.listening(port);
  const undici = JSON.parse(readFileSync(new URL('package.json', import.meta.resolve('undici')), 'utf8')) as {
    version: string;
  };
  return {
    id: 'relay',
    title: 'bare relay: node:http, undici dispatch',
    version: `undici ${undici.version}`,
    port,
    headers: [],
    models: PROVIDER_MODELS,
    keyed: false,
    processes: { relay: [relay.pid] },
    except: [],
    settle: settleAtOnce,
  };
}
