import type { BuiltCommit } from './against/build-commit.js';
import { startAgainst } from './against/start-against.js';
import type { BenchArguments } from './arguments.js';
import type { BenchContext } from './bench-context.js';
import { type NatsMonitor, findNatsProgram, withNats, writeMonitoredNats } from './counts/nats-monitor.js';
import { prepareExtras } from './gateway/prepare-extras.js';
import { type GatewayPeer, startGateway } from './gateway/start-gateway.js';
import { PROVIDER_MODELS, type Peer, settleAtOnce } from './peers/peer.js';
import { startLitellm } from './peers/start-litellm.js';
import { startNginx } from './peers/start-nginx.js';
import { startPortkey } from './peers/start-portkey.js';
import type { Provider } from './peers/start-provider.js';
import { startRelay } from './peers/start-relay.js';

export interface Peers {
  readonly all: readonly Peer[];
  /** Peers in {@link all} with accounts and books: this build and another commit's. */
  readonly gateways: readonly GatewayPeer[];
  /** Monitoring URL of each gateway's NATS. */
  readonly natsMonitors: ReadonlyMap<GatewayPeer, string>;
  /** Peers that are not available, with reasons. */
  readonly notes: readonly string[];
}

/** Starts the selected peers. `ending` ends each of them, also after a failed start. */
export async function startPeers(
  options: BenchArguments,
  against: BuiltCommit | null,
  provider: Provider,
  directory: string,
  { ending, log, signal }: BenchContext,
): Promise<Peers> {
  const [all, notes]: [Peer[], string[]] = [[], []];
  for (const id of options.peers) {
    signal.throwIfAborted();
    switch (id) {
      case 'direct':
        all.push(createDirectPeer(provider));
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
      case 'litellm': {
        const peer = await startLitellm(provider, directory, ending, log);
        if (typeof peer === 'string') notes.push(peer);
        else all.push(peer);
        break;
      }
      case 'gateway':
        break;
    }
  }
  const gateways = options.peers.includes('gateway')
    ? await startGateways(options, against, provider, directory, notes, { ending, log, signal })
    : new Map<GatewayPeer, string | null>();
  for (const note of notes) log(note);
  return {
    all: [...all, ...gateways.keys()],
    gateways: [...gateways.keys()],
    natsMonitors: new Map([...gateways].flatMap(([gateway, url]) => (url === null ? [] : [[gateway, url] as const]))),
    notes,
  };
}

/** Starts the gateways of both commits, with monitoring ports of their NATS. */
async function startGateways(
  { accounts }: BenchArguments,
  against: BuiltCommit | null,
  provider: Provider,
  directory: string,
  notes: string[],
  { ending, log, signal }: BenchContext,
): Promise<Map<GatewayPeer, string | null>> {
  const nats = await findNatsProgram(directory);
  const monitorOf = (name: string): Promise<NatsMonitor | null> =>
    nats === null ? Promise.resolve(null) : writeMonitoredNats(nats, directory, name);
  const gateways = new Map<GatewayPeer, string | null>();
  const add = async (gateway: GatewayPeer, monitor: NatsMonitor | null): Promise<void> => {
    signal.throwIfAborted();
    const hotSecrets = await prepareExtras(gateway.processes, provider.url).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      if (gateway.id === 'gateway') throw error;
      notes.push(`${gateway.title}: hot accounts and the mix are not measured: ${reason}`);
      return null;
    });
    gateways.set(hotSecrets === null ? gateway : { ...gateway, hotSecrets }, monitor?.url ?? null);
  };
  signal.throwIfAborted();
  const own = await monitorOf('nats-of-gateway');
  await add(await withNats(own, () => startGateway(provider, directory, accounts, ending, log)), own);
  if (against === null) return gateways;
  const other = await monitorOf('nats-of-against');
  await add(await startAgainst(against, provider, directory, accounts, other?.program ?? null, ending, log), other);
  return gateways;
}

/** The direct call, to which the other peers are compared. */
export function createDirectPeer(provider: Provider): Peer {
  return {
    id: 'direct',
    title: 'direct call to the provider simulator',
    version: '',
    port: provider.port,
    headers: [],
    models: PROVIDER_MODELS,
    keyed: false,
    processes: {},
    except: [],
    settle: settleAtOnce,
  };
}
