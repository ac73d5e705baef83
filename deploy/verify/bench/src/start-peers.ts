import type { BuiltCommit } from './against/build-commit.js';
import { startAgainst } from './against/start-against.js';
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
  /** Those of {@link all} that have accounts and books: this build, and another commit's. */
  readonly gateways: readonly GatewayPeer[];
}

/** Starts the peers that were asked for, one after the other; each is ended by `ending`, also those of a broken start. */
export async function startPeers(
  options: BenchArguments,
  against: BuiltCommit | null,
  provider: Provider,
  directory: string,
  ending: Ending,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<Peers> {
  const all: Peer[] = [];
  const gateways: GatewayPeer[] = [];
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
        gateways.push(await startGateway(provider, directory, options.accounts, ending, log));
        break;
    }
  }
  signal.throwIfAborted();
  if (against !== null) gateways.push(await startAgainst(against, provider, directory, options.accounts, ending, log));
  signal.throwIfAborted();
  return { all: [...all, ...gateways], gateways };
}
