import { rm } from 'node:fs/promises';
import { conninfo } from '@gateway/servers';
import { isBehind, readServerState, withServer, type ServerState } from '@gateway/postgres';
import { pause } from '@gateway/service-kit';
import { readRecord, SYNCHRONOUS, writeRecord, type PostgresRecord } from './topology.js';

export interface PromoteOptions {
  readonly stateDirectory: string;
  /** Ends a member at once, and its connections with it; it may have ended before. */
  readonly kill: (member: string) => void;
  /** Promotes this one; the most advanced standby when absent. */
  readonly to?: string;
  /** Promotes also where commits may be lost. */
  readonly acceptLoss?: boolean;
  /** The next primary waits for these; SYNCHRONOUS when absent. */
  readonly synchronous?: string;
  readonly log: (line: string) => void;
}

export interface Promotion {
  readonly primary: string;
  readonly timeline: number;
  /** Of the log before: what the primary before had committed beyond it is lost. */
  readonly position: string;
}

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
 * Makes a standby the primary, so that no commit is lost and the primary before can take no more:
 *
 * 1. Every standby stops following it. From then on it confirms no commit, wherever it is.
 * 2. The standby that has received most is chosen: with ANY 1, one of them has every commit.
 * 3. The record of who may start as primary names the chosen one.
 * 4. The primary before is killed. When it is started again, it is a standby.
 * 5. The chosen one is promoted, and the others follow it.
 *
 * @throws Error, with everything as before, when a standby does not answer (it might have what the
 * others lack) or `to` is not the most advanced one, unless the loss is accepted
 */
export async function promote(options: PromoteOptions): Promise<Promotion> {
  const { stateDirectory, acceptLoss = false, log } = options;
  const record = readRecord(stateDirectory);
  if (record === null)
    throw new Error(`no PostgreSQL with standbys was started on ${stateDirectory}: npm start -- --ha`);
  const { standbys, silent } = await findStandbys(record);
  if (standbys.length === 0) throw new Error(`no standby answers: ${silent.join(', ')}`);
  if (silent.length > 0 && !acceptLoss) {
    throw new Error(
      `${silent.join(' and ')} does not answer and may have commits that the others lack: ` +
        'start it, or promote with --accept-loss',
    );
  }
  await Promise.all(standbys.map(({ url }) => detach(url)));
  const ordered = await Promise.all(standbys.map(readStandby));
  ordered.sort((one, other) => (isBehind(one.position, other.position) ? 1 : -1));
  const [most] = ordered;
  const chosen = options.to === undefined ? most : ordered.find(({ name }) => name === options.to);
  const isLosing = chosen !== undefined && most !== undefined && isBehind(chosen.position, most.position);
  if (chosen === undefined || (isLosing && !acceptLoss)) {
    await Promise.all(standbys.map(({ name, url }) => follow(url, record.peerUrls[record.primary] ?? '', name)));
    throw new Error(
      chosen === undefined
        ? `${options.to} is no standby that answers: ${standbys.map(({ name }) => name).join(', ')}`
        : `${chosen.name} is at ${chosen.position}, behind ${most?.name} at ${most?.position}: promote that one`,
    );
  }
  writeRecord(stateDirectory, { ...record, primary: chosen.name });
  log(`${record.primary} is ended: it starts again as a standby`);
  options.kill(record.primary);
  const state = await raise(chosen.url, options.synchronous ?? SYNCHRONOUS);
  for (const other of ordered.filter((one) => one !== chosen)) {
    // One that has more than the primary cannot follow it: it begins anew on a copy.
    if (isBehind(chosen.position, other.position)) await beginAnew(options, other.name);
    else await follow(other.url, record.peerUrls[chosen.name] ?? '', other.name);
  }
  // So may one that does not answer.
  for (const name of silent) await beginAnew(options, name);
  log(`${chosen.name} is the primary, on timeline ${state.timeline}`);
  return { primary: chosen.name, timeline: state.timeline ?? 0, position: chosen.position };
}

/** Asks again those that do not answer, for a while: a busy machine is no dead server. */
async function findStandbys(record: PostgresRecord) {
  const untilMs = performance.now() + FIND_MS;
  for (;;) {
    const found = await askStandbys(record);
    if (found.silent.length === 0 || performance.now() > untilMs) return found;
    await pause(LOOK_MS);
  }
}

async function askStandbys(record: PostgresRecord) {
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

/** Resolves when it receives nothing more from the primary. */
async function detach(url: string): Promise<void> {
  await withServer(url, async (server) => {
    await server.query(`ALTER SYSTEM SET primary_conninfo = ''`);
    await server.query('SELECT pg_reload_conf()');
    const untilMs = performance.now() + DETACHED_MS;
    while ((await server.query('SELECT FROM pg_stat_wal_receiver WHERE pid IS NOT NULL')).rowCount !== 0) {
      if (performance.now() > untilMs) throw new Error('a standby does not stop following the primary');
      await pause(LOOK_MS);
    }
  });
}

async function readStandby({ name, url }: { name: string; url: string }): Promise<Standby> {
  const { position } = await withServer(url, readServerState);
  return { name, url, position: position ?? '0/0' };
}

async function follow(url: string, primaryUrl: string, name: string): Promise<void> {
  await withServer(url, async (server) => {
    const text = conninfo(primaryUrl, name).replaceAll("'", "''");
    await server.query(`ALTER SYSTEM SET primary_conninfo = '${text}'`);
    await server.query('SELECT pg_reload_conf()');
  });
}

async function raise(url: string, synchronous: string): Promise<ServerState> {
  return withServer(url, async (server) => {
    await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${synchronous}'`);
    await server.query('SELECT pg_reload_conf()');
    await server.query(`SELECT pg_promote(true, ${PROMOTE_SECONDS})`);
    const state = await readServerState(server);
    if (state.isStandby) throw new Error(`the promotion did not end within ${PROMOTE_SECONDS} s`);
    return state;
  });
}

/** Without the file by which it is a standby, its next start replaces its data. */
async function beginAnew({ stateDirectory, kill }: PromoteOptions, name: string): Promise<void> {
  await rm(`${stateDirectory}/servers/${name}/postgres/data/standby.signal`, { force: true });
  kill(name);
}
