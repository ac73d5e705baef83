import { setTimeout as delay } from 'node:timers/promises';
import { type LocalSystem, startSystem } from '@gateway/local';
import type { Cleanup } from '../context.js';
import type { Peer } from '../peers/peer.js';
import type { Provider } from '../peers/provider.js';
import { Books, findProblems } from './books.js';
import { CREDIT_NANO_USD, GATEWAY_MODELS, createOperatorClient, prepareAccounts, prepareCatalog } from './prepare.js';

/** Longest time from the last response to its settled record. */
const SETTLE_MS_MAX = 60_000;
const SETTLE_POLL_MS = 50;
const AUDIT_POLL_MS = 1_000;

/** The gateway as a peer, with its accounts and books. */
export interface GatewayPeer extends Peer {
  /** The process that started and supervises it. Its CPU is not the gateway's. */
  readonly starter: number;
  readonly secrets: readonly string[];
  /** Keys of few accounts with raised limits. Absent if extras were not prepared. */
  readonly hotSecrets?: readonly string[];
  /** @throws Error unless every answered call has its record and every wallet is exact */
  audit(): Promise<void>;
}

/** Starts the complete system like `npm start`, with one replica of each service. */
export function startLocalSystem(
  stateDirectory: string,
  log: (line: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<LocalSystem> {
  return startSystem({
    stateDirectory,
    port: 0,
    replicas: { 'edge-proxy': 1, admission: 1, billing: 1, accounts: 1, catalog: 1, dashboard: 1 },
    env: { NODE_ENV: 'production', GATEWAY_SIMULATOR_RECORD: 'off', ...env },
    durable: true,
    log,
  });
}

/**
 * Starts the complete system on its own servers, with accounts that have a credit and a key each.
 * The bench of a later commit calls this function (`--against`), so keep its parameters and the
 * used parts of its result.
 * @param env variables for all services, in addition to those of the benchmark
 */
export async function startGateway(
  provider: Pick<Provider, 'url'>,
  directory: string,
  accountsTotal: number,
  ending: Cleanup,
  log: (line: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayPeer> {
  const system = await startLocalSystem(`${directory}/gateway`, log, env);
  ending.add('the gateway', () => system.stop());
  // All processes except the starter and the system's unused simulator.
  const { starter: _starter, 'provider-simulator': _simulator, ...processes } = system.running().pids;
  const startedAt = performance.now();
  const api = createOperatorClient(processes);
  await prepareCatalog(api, provider.url);
  const prepared = await prepareAccounts(api, accountsTotal);
  log(`${accountsTotal} accounts prepared in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  const books = await Books.open(system.servers.postgres.url);
  ending.add('the auditor', () => books.close());
  const accounts = prepared.map(({ account }) => account);
  let [answeredTotal, unansweredTotal] = [0, 0];
  return {
    id: 'gateway',
    starter: process.pid,
    title: 'this gateway, everything on',
    version: Object.values(system.servers)
      .map((server) => `${server.name} ${server.version}`)
      .join(', '),
    port: Number(new URL(system.addresses.publicUrl).port),
    headers: [],
    models: GATEWAY_MODELS,
    keyed: true,
    processes,
    except: [books.backendPid],
    secrets: prepared.map(({ secret }) => secret),
    async settle(answered, failed = 0) {
      answeredTotal += answered;
      unansweredTotal += failed;
      const until = Date.now() + SETTLE_MS_MAX;
      for (let records = await books.records(); records < answeredTotal; records = await books.records()) {
        if (Date.now() > until)
          throw new Error(`only ${records} of ${answeredTotal} answered calls were settled in time`);
        await delay(SETTLE_POLL_MS);
      }
    },
    async audit() {
      const until = Date.now() + SETTLE_MS_MAX;
      for (;;) {
        const state = await books.read(accounts, CREDIT_NANO_USD);
        const problems = findProblems(state, answeredTotal, unansweredTotal);
        if (problems.length === 0) return;
        // The outcome of a failed call may be known later than the responses.
        if (unansweredTotal === 0 || Date.now() > until) throw new Error(`the books are wrong: ${problems.join('; ')}`);
        await delay(AUDIT_POLL_MS);
      }
    },
  };
}
