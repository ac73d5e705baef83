import { readServerState, withServer } from '@gateway/postgres';
import { pause } from '@gateway/service-kit';
import type { Secrets } from '../secrets.js';
import { LEADER_LOOK_MS, LOOK_MS, portsFor, portsFrom, type ClusterParts } from './members.js';
import * as topology from './topology.js';

const PRIMARY_WAIT_MS = 60_000;
/** Timeout after which the other servers drop a silent one. */
const SILENT_SECONDS = 3;

/** Starts a primary and two standbys, one of which must confirm each commit. */
export async function startPostgres(
  stateDirectory: string,
  secrets: Secrets,
  { start, members, restarter, between }: ClusterParts,
) {
  const names = topology.POSTGRES_MEMBERS;
  const ports = await portsFor(names);
  const peerPorts = await portsFrom('standbys', ports, between);
  const urlOf = (name: string, by: Readonly<Record<string, number>> = ports): string =>
    `postgres://postgres:${encodeURIComponent(secrets.postgresPassword)}@127.0.0.1:${by[name]}/postgres`;
  const primary = topology.readRecord(stateDirectory)?.primary ?? names[0];
  const urls = Object.fromEntries(names.map((name) => [name, urlOf(name)]));
  const peerUrls = Object.fromEntries(names.map((name) => [name, urlOf(name, peerPorts)]));
  topology.writeRecord(stateDirectory, { primary, urls, peerUrls });
  const leader = (): string => topology.readRecord(stateDirectory)?.primary ?? primary;
  /** Servers whose last start was as a primary. */
  const primaries = new Set<string>();
  const startOne = (name: string): Promise<void> =>
    start(name, 'postgres', {
      ports: { postgres: ports[name] ?? 0 },
      postgres: {
        superuserPassword: secrets.postgresPassword,
        settings: [
          'wal_keep_size=512MB',
          `wal_sender_timeout=${SILENT_SECONDS}s`,
          `wal_receiver_timeout=${SILENT_SECONDS}s`,
          'wal_receiver_status_interval=1s',
          'wal_retrieve_retry_interval=200ms',
        ],
        follows: async () => {
          if (leader() === name) {
            primaries.add(name);
            return null;
          }
          primaries.delete(name);
          await waitForPrimary(() => urlOf(leader()));
          return { url: urlOf(leader(), peerPorts), name };
        },
      },
    });
  await startOne(primary);
  await Promise.all(names.filter((name) => name !== primary).map(startOne));
  await withServer(urlOf(primary), async (server) => {
    await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${topology.SYNCHRONOUS}'`);
    await server.query('SELECT pg_reload_conf()');
  });
  // Kills a server that was starting as the primary while another one was promoted.
  restarter.meanwhile(LEADER_LOOK_MS, async () => {
    const replaced = [...primaries].filter((name) => name !== leader());
    await Promise.all(replaced.flatMap((name) => members[name]?.restart?.({ kill: true }) ?? []));
  });
  const hosts = names.map((name) => `127.0.0.1:${ports[name]}`).join(',');
  const url = `${urlOf(primary).replace(/127\.0\.0\.1:\d+/, hosts)}?target_session_attrs=read-write`;
  return { url, leader: () => members[leader()] };
}

/** Resolves when the server is a primary, which a standby needs before it can follow. */
async function waitForPrimary(urlOf: () => string): Promise<void> {
  const untilMs = performance.now() + PRIMARY_WAIT_MS;
  for (;;) {
    const state = await withServer(urlOf(), readServerState).catch(() => null);
    if (state?.isStandby === false) return;
    if (performance.now() > untilMs) throw new Error('the server to follow is not a primary');
    await pause(LOOK_MS);
  }
}
