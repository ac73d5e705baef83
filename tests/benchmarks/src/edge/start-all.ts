import { type BenchContext, messageOf, openRunDirectory } from '../context.js';
import { startHostedGateway } from '../gateway/hosted-gateway.js';
import { findNatsProgram, withNats, writeMonitoredNats } from '../gateway/nats-monitor.js';
import { HOT_CALLS_PER_MINUTE_MAX, prepareExtras } from '../gateway/prepare.js';
import { type GatewayPeer, startGateway } from '../gateway/start-gateway.js';
import { Load } from '../load/load.js';
import { findPinningObstacle, pin, pinAlone } from '../machine/pin.js';
import type { ListedPeer, Peer } from '../peers/peer.js';
import { type Provider, startProvider } from '../peers/provider.js';
import { startPeer } from '../peers/start-peers.js';
import { nameKeys } from './measure.js';

/** The gateway's limit for an account without a plan. */
export const CALLS_PER_MINUTE_MAX = 60;

/** A gateway to start. `gateway` is the ID of this build. */
export interface GatewaySpec {
  readonly id: string;
  readonly title: string;
  /** Variables of all services. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Started in a separate process: a compiled checkout, and a Node program if it is another one.
   */
  readonly host?: { readonly directory: string; readonly execPath?: string };
}

export interface Peers {
  readonly all: readonly Peer[];
  /** Peers in {@link all} with accounts and books. */
  readonly gateways: readonly GatewayPeer[];
}

export interface Started extends Peers {
  readonly load: Load;
  /** Monitoring URL of each gateway's NATS. */
  readonly natsMonitors: ReadonlyMap<Peer, string>;
  /** Where processes run, for the report. */
  readonly placement: string;
  /** Peers and accounts that are not available, with reasons. */
  readonly notes: readonly string[];
}

/** Starts provider, load and peers, pinned to their cores. `context.ending` ends each of them. */
export async function startAll(
  ids: readonly ListedPeer[],
  specs: readonly GatewaySpec[],
  accounts: number,
  context: BenchContext,
): Promise<Started> {
  const { ending, log, signal } = context;
  const obstacle = findPinningObstacle();
  const directory = openRunDirectory(ending);
  const provider = await startProvider(directory);
  ending.add('the provider', () => provider.stop());
  const load = new Load(provider.pid);
  ending.add('the load', () => load.stop());
  // This makes a running job fail at once. Everything else ends in order when the run has returned.
  signal.addEventListener('abort', () => void load.stop());
  await provider.listening(provider.port);
  if (obstacle === null) pinAlone(process.pid, 'measured');
  const [others, notes]: [Peer[], string[]] = [[], []];
  for (const id of ids) {
    signal.throwIfAborted();
    const peer = id === 'gateway' ? null : await startPeer(id, { provider, directory, context });
    if (typeof peer === 'string') notes.push(peer);
    else if (peer !== null) others.push(peer);
  }
  const { gateways, natsMonitors } = await startGateways(specs, accounts, provider, directory, notes, context);
  for (const gateway of gateways) {
    await load.useKeys(nameKeys(gateway), gateway.secrets, CALLS_PER_MINUTE_MAX);
    if (gateway.hotSecrets !== undefined)
      await load.useKeys(nameKeys(gateway, 'hot'), gateway.hotSecrets, HOT_CALLS_PER_MINUTE_MAX);
  }
  const all = [...others, ...gateways];
  if (obstacle === null) {
    for (const peer of all) pin(Object.values(peer.processes).flat(), 'measured');
    pin(Object.values(load.processes).flat(), 'load');
    for (const pid of new Set([process.pid, ...gateways.map(({ starter }) => starter)])) pinAlone(pid, 'load');
  }
  const placement =
    obstacle === null
      ? 'the peer under test (a gateway with all its processes and servers) on core 0; load generator, provider and measurement on core 1'
      : `not pinned: ${obstacle}`;
  for (const note of notes) log(note);
  return { all, gateways, load, natsMonitors, placement, notes };
}

/**
 * Starts the gateways with monitoring ports of their NATS, and prepares what only this build knows.
 */
async function startGateways(
  specs: readonly GatewaySpec[],
  accounts: number,
  provider: Provider,
  directory: string,
  notes: string[],
  context: BenchContext,
): Promise<{ gateways: GatewayPeer[]; natsMonitors: Map<Peer, string> }> {
  const nats = specs.length === 0 ? null : await findNatsProgram(directory);
  const [gateways, natsMonitors] = [[] as GatewayPeer[], new Map<Peer, string>()];
  for (const { id, title, env, host } of specs) {
    context.signal.throwIfAborted();
    const monitor = nats === null ? null : await writeMonitoredNats(nats, directory, `nats-of-${id}`);
    const [state, program] = [`${directory}/${id}`, monitor?.program ?? null];
    const started =
      host === undefined
        ? await withNats(program, () => startGateway(provider, state, accounts, context.ending, context.log, env))
        : await startHostedGateway(
            { id, title, ...host },
            { directory: host.directory, providerUrl: provider.url, state, accounts, nats: program },
            context,
          );
    const hotSecrets = await prepareExtras(started.processes, provider.url).catch((error: unknown) => {
      if (host === undefined) throw error;
      notes.push(`${title}: hot accounts and the mix are not measured: ${messageOf(error)}`);
      return null;
    });
    const gateway = { ...started, id, title, ...(hotSecrets === null ? {} : { hotSecrets }) };
    gateways.push(gateway);
    if (monitor !== null) natsMonitors.set(gateway, monitor.url);
  }
  return { gateways, natsMonitors };
}
