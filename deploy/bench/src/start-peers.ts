import type { BenchArguments } from './arguments.js';
import type { Ending } from './ending.js';
import { startGateway } from './gateway/start-gateway.js';
import type { GatewayPeer } from './gateway/start-gateway.js';
import { directCall } from './peers/direct.js';
import type { Peer } from './peers/peer.js';
import { startNginx } from './peers/start-nginx.js';
import { startPortkey } from './peers/start-portkey.js';
import type { Provider } from './peers/start-provider.js';
import { startRelay } from './peers/start-relay.js';

export interface Peers {
  readonly all: readonly Peer[];
  readonly gateway: GatewayPeer | null;
}

/** Starts the peers that were asked for, one after the other; each is ended by `ending`, also those of a broken start. */
export async function startPeers(
  options: BenchArguments,
  provider: Provider,
  directory: string,
  ending: Ending,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<Peers> {
  const all: Peer[] = [];
  let gateway: GatewayPeer | null = null;
  for (const id of options.peers) {
    signal.throwIfAborted();
    switch (id) {
      case 'direct':
        all.push(directCall(provider));
        break;
      case 'nginx':
        all.push(await startNginx(provider, directory, ending, log));
        break;
      case 'relay':
        all.push(await startRelay(provider, directory, ending));
        break;
      case 'portkey':
        all.push(await startPortkey(provider, directory, ending, log));
        break;
      case 'gateway':
        gateway = await startGateway(provider, directory, options.accounts, ending, log);
        all.push(gateway);
        break;
    }
  }
  signal.throwIfAborted();
  return { all, gateway };
}
