import { readServerState, withServer } from '@gateway/postgres';
import * as topology from './topology.js';

const NAMES = topology.POSTGRES_MEMBERS;
const PRIMARY_WAIT_MS = 60_000;
/** Timeout after which the other servers drop a silent one. */
const SILENT_SECONDS = 3;
const SETTINGS = [
  'wal_keep_size=512MB',
  `wal_sender_timeout=${SILENT_SECONDS}s`,
  `wal_receiver_timeout=${SILENT_SECONDS}s`,
  'wal_receiver_status_interval=1s',
  'wal_retrieve_retry_interval=200ms',
];

/** Starts a primary and two standbys, one of which must confirm each commit. */
export async function startPostgres({
  stateDirectory,
  secrets,
  start,
  members,
  restarter,
  between,
}: topology.ClusterParts): Promise<topology.Group> {
  const ports = await topology.portsFor(NAMES);
  const peerPorts = await topology.portsFrom('standbys', ports, between);
  const urlOn = (hosts: string): string =>
    `postgres://postgres:${encodeURIComponent(secrets.postgresPassword)}@${hosts}/postgres`;
  const urlsOn = (by: Readonly<Record<string, number>>) =>
    Object.fromEntries(NAMES.map((name) => [name, urlOn(`127.0.0.1:${by[name]}`)]));
  const [urls, peerUrls] = [urlsOn(ports), urlsOn(peerPorts)];
  const primary = topology.readRecord(stateDirectory)?.primary ?? NAMES[0];
  const leader = (): string => topology.readRecord(stateDirectory)?.primary ?? primary;
  /** Servers whose last start was as a primary. */
  const primaries = new Set<string>();
  const startOne = (name: string): Promise<void> =>
    start(name, 'postgres', {
      ports: { postgres: ports[name] ?? 0 },
      postgres: {
        superuserPassword: secrets.postgresPassword,
        settings: SETTINGS,
        follows: async () => {
          if (leader() === name) {
            primaries.add(name);
            return null;
          }
          primaries.delete(name);
          await waitForPrimary(() => urls[leader()] ?? '');
          return { url: peerUrls[leader()] ?? '', name };
        },
      },
    });
  await startOne(primary);
  // Only now: the record of a running system stays if this start is refused.
  topology.writeRecord(stateDirectory, { primary, urls, peerUrls });
  await Promise.all(NAMES.filter((name) => name !== primary).map(startOne));
  await withServer(urls[primary] ?? '', async (server) => {
    await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${topology.SYNCHRONOUS}'`);
    await server.query('SELECT pg_reload_conf()');
  });
  // Kills a server that was starting as the primary while another one was promoted.
  restarter.meanwhile(topology.LEADER_LOOK_MS, async () => {
    const replaced = [...primaries].filter((name) => name !== leader());
    await Promise.all(replaced.flatMap((name) => members[name]?.restart?.({ kill: true }) ?? []));
  });
  return {
    url: `${urlOn(topology.hostsOf(ports))}?target_session_attrs=read-write`,
    leader: () => members[leader()],
  };
}

/** Resolves when the server is a primary, which a standby needs before it can follow. */
async function waitForPrimary(urlOf: () => string): Promise<void> {
  const isPrimary = await topology.poll(PRIMARY_WAIT_MS, async () => {
    const state = await withServer(urlOf(), readServerState);
    return state.isStandby ? null : true;
  });
  if (isPrimary === null) throw new Error('the server to follow is not a primary');
}
