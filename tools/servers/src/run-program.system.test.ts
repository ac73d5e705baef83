import { afterAll, expect, jest, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { natsRequest, redis, sql } from '../test/request-servers.js';
import { temporaryState } from '../test/temporary-state.js';
import { freePort } from '@gateway/service-kit/free-port';
import { waitUntil } from './run-command.js';
import type { RestartOptions, RunningServer, ServersOptions } from './server.js';
import { SERVER_NAMES } from './server.js';
import { startServers } from './start-servers.js';

/** Some tests start several servers, possibly on a busy machine. */
jest.setTimeout(120_000);
const state = temporaryState();
const exits: string[] = [];
const started: RunningServer[] = [];

afterAll(async () => {
  await Promise.all(started.map((server) => server.stop()));
  await state.removeAll();
});

test('restart() keeps port and data, and emptyState drops the data', async () => {
  const { postgres, nats, redis: cache } = await start(await state.make());
  await sql(postgres.url, 'CREATE TABLE kept AS SELECT 7 AS n');
  await redis(cache.url, 'SET', 'kept', '7');
  await natsRequest(nats.url, '$JS.API.STREAM.CREATE.KEPT', JSON.stringify({ name: 'KEPT', subjects: ['kept'] }));
  // The append-only file is synced each second, but written before the response: a killed process
  // loses nothing.
  for (const kill of [true, false]) {
    const before = [postgres.pid, nats.pid, cache.pid];
    await restartAll([postgres, nats, cache], { kill });
    for (const [index, server] of [postgres, nats, cache].entries()) expect(server.pid).not.toBe(before[index]);
    expect(await sql(postgres.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    expect(await redis(cache.url, 'GET', 'kept')).toBe('7');
    expect(await natsRequest(nats.url, '$JS.API.STREAM.NAMES', '')).toContain('KEPT');
  }
  await restartAll([postgres, nats, cache], { kill: true, emptyState: true });
  expect(await sql(postgres.url, "SELECT to_regclass('kept') AS found")).toEqual([{ found: null }]);
  expect(await redis(cache.url, 'DBSIZE')).toBe('0');
  expect(await natsRequest(nats.url, '$JS.API.STREAM.NAMES', '')).not.toContain('KEPT');
  expect(exits).toEqual([]);
});

test('two concurrent starts use different servers', async () => {
  const both = await Promise.all([start(await state.make()), start(await state.make())]);
  const urls = both.flatMap((servers) => SERVER_NAMES.map((name) => servers[name].url));
  expect(new Set(urls).size).toBe(6);
  await sql(both[0].postgres.url, 'CREATE TABLE mine ()');
  expect(await sql(both[1].postgres.url, "SELECT to_regclass('mine') AS found")).toEqual([{ found: null }]);
});

test('a state directory in use is refused and can be used after stop()', async () => {
  const directory = await state.make();
  const first = await startServers(['redis'], options(directory));
  await expect(startServers(['redis'], options(directory))).rejects.toThrow(`runs as process ${first.redis.pid}`);
  await first.redis.stop();
  await first.redis.stop();
  const second = await startServers(['redis'], options(directory));
  await second.redis.stop();
});

test('a server that ends unexpectedly is reported once', async () => {
  const directory = await state.make();
  const { redis: cache } = await startServers(['redis'], options(directory));
  process.kill(cache.pid ?? 0, 'SIGKILL');
  expect(await waitUntil(5_000, () => exits.length > 0)).toBe(true);
  expect(exits.splice(0)).toEqual(['redis SIGKILL']);
  await cache.restart?.();
  expect(await redis(cache.url, 'PING')).toContain('PONG');
  await cache.stop();
  expect(exits).toEqual([]);
});

test('a restart with ifEnded starts one process, and none after stop()', async () => {
  const { redis: cache } = await startServers(['redis'], options(await state.make()));
  const first = cache.pid;
  await cache.restart?.({ ifEnded: true });
  expect(cache.pid).toBe(first);
  process.kill(first ?? NaN, 'SIGKILL');
  expect(await waitUntil(5_000, () => exits.length > 0)).toBe(true);
  exits.splice(0);
  expect(cache.pid).toBeNull();
  // Two concurrent restarts result in one process.
  await Promise.all([cache.restart?.({ ifEnded: true }), cache.restart?.({ ifEnded: true })]);
  const second = cache.pid;
  expect(second).not.toBeNull();
  expect(await redis(cache.url, 'INFO', 'server')).toContain(`process_id:${second}\r\n`);
  process.kill(second ?? NaN, 'SIGKILL');
  expect(await waitUntil(5_000, () => exits.length > 0)).toBe(true);
  exits.splice(0);
  const stopped = cache.stop();
  await Promise.all([stopped, cache.restart?.({ ifEnded: true })]);
  expect(cache.pid).toBeNull();
});

test('stop() does not wait for a restart that does not become ready', async () => {
  const directory = await state.make();
  const { redis: cache } = await startServers(['redis'], options(directory));
  process.kill(cache.pid ?? NaN, 'SIGKILL');
  expect(await waitUntil(5_000, () => exits.length > 0)).toBe(true);
  exits.splice(0);
  const stranger = createServer().listen(Number(new URL(cache.url).port), '127.0.0.1');
  const restarting = expect(cache.restart?.({ ifEnded: true })).rejects.toThrow(/address already in use/i);
  const logged = (): Promise<string> => readFile(`${directory}/logs/redis.log`, 'utf8');
  expect(await waitUntil(20_000, async () => /address already in use/i.test(await logged()))).toBe(true);
  const askedAt = performance.now();
  await cache.stop();
  expect(performance.now() - askedAt).toBeLessThan(5_000);
  await restarting;
  stranger.close();
});

test('a given port is used, and a taken one is an error', async () => {
  const port = await freePort();
  const { nats } = await startServers(['nats'], { ...options(await state.make()), ports: { nats: port } });
  expect(new URL(nats.url).port).toBe(String(port));
  await nats.stop();
  const stranger = createServer().listen(port, '127.0.0.1');
  const second = startServers(['nats'], { ...options(await state.make()), ports: { nats: port } });
  await expect(second).rejects.toThrow(`port ${port} for NATS is taken`);
  stranger.close();
});

test("an invalid configuration is reported with the server's last log lines", async () => {
  const broken = { ...options(await state.make()), nats: { config: 'no_such_setting: 1' } };
  await expect(startServers(['nats'], broken)).rejects.toThrow(/unknown field "no_such_setting"/);
});

async function start(
  directory: string,
): Promise<Awaited<ReturnType<typeof startServers<(typeof SERVER_NAMES)[number]>>>> {
  const servers = await startServers(SERVER_NAMES, options(directory));
  started.push(...Object.values(servers));
  return servers;
}

async function restartAll(servers: RunningServer[], how: RestartOptions): Promise<void> {
  await Promise.all(servers.map(async (server) => server.restart?.(how)));
}

function options(stateDirectory: string): ServersOptions {
  return {
    stateDirectory,
    env: { PATH: process.env['PATH'], GATEWAY_SERVER_SOURCES: 'project' },
    postgres: { superuserPassword: 'secret' },
    redis: { persist: true },
    durable: false,
    onExit: (name, how) => exits.push(`${name} ${how}`),
  };
}
