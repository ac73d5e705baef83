import { readServerState, withServer } from '@gateway/postgres';
import { pause } from '@gateway/service-kit';
import type { Secrets } from '../secrets.js';
import { LEADER_LOOK_MS, LOOK_MS, portsFor, portsFrom, type ClusterParts } from './members.js';
import * as topology from './topology.js';

const PRIMARY_WAIT_MS = 60_000;
/** A server that is silent so long is given up by the others. */
const SILENT_SECONDS = 3;

/** A primary and two standbys, of which one confirms each commit. */
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
  /** Those whose last start was that of a primary. */
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
          await isPrimary(() => urlOf(leader()));
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
  // One that was on its way up when another was promoted could not be ended then.
  restarter.meanwhile(LEADER_LOOK_MS, async () => {
    const replaced = [...primaries].filter((name) => name !== leader());
    await Promise.all(replaced.flatMap((name) => members[name]?.restart?.({ kill: true }) ?? []));
  });
  const hosts = names.map((name) => `127.0.0.1:${ports[name]}`).join(',');
  const url = `${urlOf(primary).replace(/127\.0\.0\.1:\d+/, hosts)}?target_session_attrs=read-write`;
  return { url, leader: () => members[leader()] };
}

/** Resolves when the server is a primary: nobody follows one that is not. */
async function isPrimary(urlOf: () => string): Promise<void> {
  const untilMs = performance.now() + PRIMARY_WAIT_MS;
  for (;;) {
    const state = await withServer(urlOf(), readServerState).catch(() => null);
    if (state?.isStandby === false) return;
    if (performance.now() > untilMs) throw new Error('the server that this one is to follow is no primary');
    await pause(LOOK_MS);
  }
}
