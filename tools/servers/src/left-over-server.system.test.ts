import { afterAll, afterEach, expect, jest, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { access, chown, cp, lstat, mkdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { getContainerRuntimeClient } from 'testcontainers';
import { hasEngine, isRunning, sql } from '../test/request-servers.js';
import { temporaryState } from '../test/temporary-state.js';
import { canEnter, serverUser, waitUntil } from './run-command.js';
import type { ServersOptions } from './server.js';
import { startServers } from './start-servers.js';

/** Some tests start several servers, possibly on a busy machine. */
jest.setTimeout(120_000);
const END_MAX_MS = 10_000;
const script = fileURLToPath(new URL('../test/hold-servers.mjs', import.meta.url));
const state = temporaryState();
const children: ChildProcess[] = [];
const user = serverUser();
const asRoot = user ? test : test.skip;

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => state.removeAll());

const bound = existsSync('/usr/bin/setpriv') ? test : test.skip;

bound('servers die with a starter that is killed', async () => {
  const { child, servers } = await hold(await state.make(), 'postgres,nats,redis');
  const pids = servers.map(({ pid }) => pid);
  expect(pids.every((pid) => isRunning(pid, processState))).toBe(true);
  child.kill('SIGKILL');
  expect(await waitUntil(END_MAX_MS, () => !pids.some((pid) => isRunning(pid, processState)))).toBe(true);
});

test('a start right after the starter was killed finds its data', async () => {
  const directory = await state.make();
  const { child, servers } = await hold(directory, 'nats,postgres,redis');
  await sql(servers[1]?.url ?? '', 'CREATE TABLE kept AS SELECT 7 AS n');
  child.kill('SIGKILL');
  const next = await hold(directory, 'nats,postgres,redis');
  expect(await sql(next.servers[1]?.url ?? '', 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  await release(next.child);
});

(hasEngine ? test : test.skip)('containers serve a state directory for one starter at a time', async () => {
  const directory = await state.make();
  const { child, servers } = await hold(directory, 'postgres', undefined, 'docker');
  await sql(servers[0]?.url ?? '', 'CREATE TABLE kept AS SELECT 7 AS n');
  const env = { ...process.env, GATEWAY_SERVER_SOURCES: 'docker' };
  const second = startServers(['postgres'], { ...options(directory), env, durable: true });
  await expect(second).rejects.toThrow('is already in use by container');
  child.kill('SIGKILL');
  const volume = await readFile(join(directory, 'docker-volumes', 'postgres'), 'utf8');
  const { dockerode } = (await getContainerRuntimeClient()).container;
  await dockerode.getContainer(volume).remove({ force: true });
  const next = await hold(directory, 'postgres', undefined, 'docker');
  expect(await sql(next.servers[0]?.url ?? '', 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  await release(next.child);
  await dockerode.getVolume(volume).remove();
});

asRoot('an ordinary user can start all three servers', async () => {
  const directory = await state.make();
  await chown(directory, user?.uid ?? 0, user?.gid ?? 0);
  if (!(await canEnter(fileURLToPath(new URL('..', import.meta.url)), user))) return;
  const { child, servers } = await hold(directory, 'postgres,nats,redis', user ?? undefined);
  expect(servers.map(({ name }) => name)).toEqual(['postgres', 'nats', 'redis']);
  for (const { pid } of servers) expect(processState(pid)).toMatch(new RegExp(`^Uid:\\s+${user?.uid}`, 'm'));
  await release(child);
});

asRoot('unreachable state is stored elsewhere, found again and deleted with its link', async () => {
  const directory = join(await state.make(), 'inner');
  await mkdir(directory, { mode: 0o755 });
  const first = await startServers(['postgres'], options(directory));
  const outside = await readlink(join(directory, 'postgres'));
  expect(outside).toMatch(/^\/var\/tmp\//);
  await sql(first.postgres.url, 'CREATE TABLE kept ()');
  await first.postgres.stop();
  const second = await startServers(['postgres'], options(directory));
  expect(await sql(second.postgres.url, "SELECT to_regclass('kept')::text AS found")).toEqual([{ found: 'kept' }]);
  await second.postgres.stop();
  await rm(directory, { recursive: true });
  const third = await startServers(['postgres'], options(directory));
  expect(await sql(third.postgres.url, "SELECT to_regclass('kept') AS found")).toEqual([{ found: null }]);
  await third.postgres.stop();
  await rm(directory, { recursive: true });
  const other = join(await state.make(), 'inner');
  const fourth = await startServers(['postgres'], options(other));
  await fourth.postgres.stop();
  await expect(access(outside)).rejects.toThrow('ENOENT');
  const last = await readlink(join(other, 'postgres'));
  await rm(last, { recursive: true });
  await rm(`${last}.origin`);
});

test('a lock file with the pid of another program does not prevent the start', async () => {
  const directory = await state.make();
  const first = await startServers(['postgres'], options(directory));
  const lock = join(directory, 'postgres', 'data', 'postmaster.pid');
  const content = await readFile(lock, 'utf8');
  await first.postgres.stop();
  const stranger = spawn('/bin/sleep', ['100'], user ? { uid: user.uid, gid: user.gid } : {});
  children.push(stranger);
  await writeFile(lock, content.replace(/^\d+/, String(stranger.pid)), { mode: 0o600 });
  if (user) await chown(lock, user.uid, user.gid);
  const second = await startServers(['postgres'], options(directory));
  expect(await sql(second.postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await second.postgres.stop();
});

test('the remains of a killed initdb are not used as data', async () => {
  const directory = await state.make();
  const first = await startServers(['postgres'], options(directory));
  await first.postgres.stop();
  const home = join(directory, 'postgres');
  await cp(join(home, 'data', 'PG_VERSION'), join(home, 'new-0123', 'PG_VERSION'));
  await rm(join(home, 'data'), { recursive: true });
  const second = await startServers(['postgres'], options(directory));
  await second.postgres.stop();
  await expect(access(join(home, 'new-0123'))).rejects.toThrow('ENOENT');
  expect((await lstat(join(home, 'data'))).isDirectory()).toBe(true);
});

test('data of another major version stays unchanged', async () => {
  const directory = await state.make();
  const first = await startServers(['postgres'], options(directory));
  await first.postgres.stop();
  await writeFile(join(directory, 'postgres', 'data', 'PG_VERSION'), '13\n');
  await expect(startServers(['postgres'], options(directory))).rejects.toThrow(
    /was created by version 13 \(npm run reset deletes it\)/,
  );
});

interface Held {
  name: string;
  url: string;
  pid: number;
}

/** Starts servers in another process, which needs the built package. */
async function hold(
  directory: string,
  names: string,
  as?: { uid: number; gid: number },
  resolver: 'project' | 'docker' = 'project',
): Promise<{ child: ChildProcess; servers: Held[] }> {
  const child = spawn(process.execPath, [script, directory, resolver, names], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: resolver === 'docker' ? process.env : { PATH: process.env['PATH'] },
    ...as,
  });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout }))
    return { child, servers: JSON.parse(line) as Held[] };
  throw new Error(`${script} ended before its servers ran; is the package built?`);
}

/** Makes the other process stop its servers in order. */
async function release(child: ChildProcess): Promise<void> {
  child.stdin?.end();
  expect(await waitUntil(END_MAX_MS, () => child.exitCode !== null)).toBe(true);
  expect(child.exitCode).toBe(0);
}

function processState(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

function options(stateDirectory: string): ServersOptions {
  return {
    stateDirectory,
    env: { PATH: process.env['PATH'], GATEWAY_SERVER_SOURCES: 'project' },
    postgres: { superuserPassword: 'secret' },
    durable: false,
  };
}
