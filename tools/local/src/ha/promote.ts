import { rm } from 'node:fs/promises';
import { conninfo } from '@gateway/servers';
import { isBehind, readServerState, withServer, type ServerState } from '@gateway/postgres';
import { poll, readRecord, SYNCHRONOUS, writeRecord, type PrimaryRecord } from './topology.js';

export interface PromoteOptions {
  readonly stateDirectory: string;
  /** Kills a member and thereby its connections. It may have ended already. */
  readonly kill: (member: string) => void;
  /** Promotes even if commits may be lost. */
  readonly acceptLoss?: boolean;
  readonly log: (line: string) => void;
}

export interface Promotion {
  readonly primary: string;
  readonly timeline: number;
  /** The log position of the promotion. Commits of the former primary after it are lost. */
  readonly position: string;
}

type Server = Parameters<Parameters<typeof withServer>[1]>[0];

interface Standby {
  readonly name: string;
  readonly url: string;
  readonly position: string;
}

const FIND_MS = 15_000;
const DETACHED_MS = 10_000;
const LOOK_MS = 20;
const PROMOTE_SECONDS = 30;

/**
 * Promotes a standby without losing a commit, and prevents the former primary from accepting
 * further commits:
 *
 * 1. Every standby stops following the primary. The primary can then complete no commit.
 * 2. The standby that has received most is chosen. With ANY 1 it has every commit, and the others
 *    can follow it.
 * 3. The record of the permitted primary names the chosen standby.
 * 4. The former primary is killed. It restarts as a standby.
 * 5. The chosen standby is promoted, and the others follow it.
 *
 * @throws Error, without changes, if no standby responds, or if one does not (it might have commits
 * that the others lack) unless loss is accepted
 */
export async function promote(options: PromoteOptions): Promise<Promotion> {
  const { stateDirectory, acceptLoss = false, log } = options;
  const record = readRecord(stateDirectory);
  if (record === null)
    throw new Error(`no PostgreSQL with standbys has been started on ${stateDirectory}: run npm start -- --ha`);
  // Repeats the search for a while, because a server may be slow on a busy machine.
  let found: Awaited<ReturnType<typeof readStandbys>> = { standbys: [], silent: [] };
  await poll(FIND_MS, async () => ((found = await readStandbys(record)).silent.length === 0 ? found : null), LOOK_MS);
  const { standbys, silent } = found;
  if (silent.length > 0 && !acceptLoss) {
    throw new Error(
      `${silent.join(' and ')} does not respond and may have commits that the others lack: ` +
        'start it, or promote with --accept-loss',
    );
  }
  await Promise.all(standbys.map(({ url }) => detach(url)));
  const ordered = await Promise.all(standbys.map(readStandby));
  ordered.sort((one, other) => (isBehind(one.position, other.position) ? 1 : -1));
  const [chosen, ...others] = ordered;
  if (chosen === undefined) throw new Error(`no standby responds: ${silent.join(', ')}`);
  writeRecord(stateDirectory, { ...record, primary: chosen.name });
  log(`${record.primary} is killed and restarts as a standby`);
  options.kill(record.primary);
  const state = await promoteStandby(chosen.url);
  for (const { url, name } of others) await follow(url, record.peerUrls[chosen.name] ?? '', name);
  // A standby ahead of the primary cannot follow it and restarts on a copy.
  for (const name of silent) await resetStandby(options, name);
  log(`${chosen.name} is the primary, on timeline ${state.timeline}`);
  return { primary: chosen.name, timeline: state.timeline ?? 0, position: chosen.position };
}

async function readStandbys(record: PrimaryRecord) {
  const standbys: { name: string; url: string }[] = [];
  const silent: string[] = [];
  const others = Object.entries(record.urls).filter(([name]) => name !== record.primary);
  for (const [name, url] of others) {
    const state = await withServer(url, readServerState).catch(() => null);
    if (state?.isStandby === true) standbys.push({ name, url });
    else silent.push(name);
  }
  return { standbys, silent };
}

/** Resolves when the standby receives nothing more from the primary. */
async function detach(url: string): Promise<void> {
  await withServer(url, async (server) => {
    await setAndReload(server, 'primary_conninfo', '');
    const receivers = 'SELECT FROM pg_stat_wal_receiver WHERE pid IS NOT NULL';
    const isDetached = async (): Promise<true | null> => ((await server.query(receivers)).rowCount === 0 ? true : null);
    if ((await poll(DETACHED_MS, isDetached, LOOK_MS)) === null)
      throw new Error('a standby does not stop following the primary');
  });
}

async function setAndReload(server: Server, name: string, value: string): Promise<void> {
  await server.query(`ALTER SYSTEM SET ${name} = '${value.replaceAll("'", "''")}'`);
  await server.query('SELECT pg_reload_conf()');
}

async function readStandby({ name, url }: { name: string; url: string }): Promise<Standby> {
  const { position } = await withServer(url, readServerState);
  return { name, url, position: position ?? '0/0' };
}

function follow(url: string, primaryUrl: string, name: string): Promise<void> {
  return withServer(url, (server) => setAndReload(server, 'primary_conninfo', conninfo(primaryUrl, name)));
}

function promoteStandby(url: string): Promise<ServerState> {
  return withServer(url, async (server) => {
    await setAndReload(server, 'synchronous_standby_names', SYNCHRONOUS);
    await server.query(`SELECT pg_promote(true, ${PROMOTE_SECONDS})`);
    const state = await readServerState(server);
    if (state.isStandby) throw new Error(`the promotion did not end within ${PROMOTE_SECONDS} s`);
    return state;
  });
}

/** Without its standby file, the next start replaces its data by a copy. */
async function resetStandby({ stateDirectory, kill }: PromoteOptions, name: string): Promise<void> {
  await rm(`${stateDirectory}/servers/${name}/postgres/data/standby.signal`, { force: true });
  kill(name);
}
