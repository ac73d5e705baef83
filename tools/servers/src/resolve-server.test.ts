import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { hasEngine, natsRequest, redis, sql } from '../test/request-servers.js';
import { temporaryState } from '../test/temporary-state.js';
import { defaultCacheDirectory } from './resolve-server.js';
import { ServerUnavailable } from './server-kind.js';
import { type RunningServer, SERVER_NAMES, type ServerName, type ServersOptions } from './server.js';
import { SERVER_KINDS, startServers } from './start-servers.js';

/** Some tests start several servers, possibly on a busy machine. */
jest.setTimeout(120_000);
const state = temporaryState();
const lines: string[] = [];
let servers: Record<ServerName, RunningServer>;

beforeAll(async () => {
  servers = await startServers(SERVER_NAMES, options(await state.make(), { GATEWAY_SERVER_SOURCES: 'project' }));
});

afterAll(async () => {
  await Promise.all(Object.values(servers ?? {}).map((server) => server.stop()));
  await state.removeAll();
});

test('the project resolver starts all three servers and each works', async () => {
  expect(Object.values(servers).map(({ resolver }) => resolver)).toEqual(['project', 'project', 'project']);
  expect(await sql(servers.postgres.url, 'SELECT current_setting($$max_connections$$) AS n')).toEqual([{ n: '200' }]);
  expect(await redis(servers.redis.url, 'CONFIG', 'GET', 'maxmemory-policy')).toContain('noeviction');
  expect(await natsRequest(servers.nats.url, '$JS.API.INFO', '')).toContain('account_info_response');
  expect(lines.filter((line) => line.includes('project selected'))).toHaveLength(3);
  expect(lines).toContain('nats: url skipped: not in GATEWAY_SERVER_SOURCES');
});

test('servers refuse requests without the password', async () => {
  const { port } = new URL(servers.postgres.url);
  await expect(sql(`postgres://postgres:wrong@127.0.0.1:${port}/postgres`, 'SELECT 1')).rejects.toThrow('password');
  const bare = `redis://127.0.0.1:${new URL(servers.redis.url).port}`;
  await expect(redis(bare, 'PING')).rejects.toThrow('NOAUTH');
});

test('the url resolver uses servers that run elsewhere and never stops them', async () => {
  const env = {
    GATEWAY_MIGRATION_URL: servers.postgres.url,
    GATEWAY_NATS_URL: servers.nats.url,
    GATEWAY_REDIS_URL: servers.redis.url,
  };
  const given = await startServers(SERVER_NAMES, options(await state.make(), env));
  for (const name of SERVER_NAMES) {
    expect(given[name]).toMatchObject({
      resolver: 'url',
      pid: null,
      version: servers[name].version,
      url: servers[name].url,
    });
    expect(given[name].source).not.toMatch(/secret/);
    expect(given[name].restart).toBeUndefined();
    await given[name].stop();
  }
  expect(await sql(servers.postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a URL of a refusing server stops the start and hides the password', async () => {
  const { port } = new URL(servers.postgres.url);
  const env = { GATEWAY_POSTGRES_URL: `postgres://postgres:hidden@127.0.0.1:${port}/postgres` };
  const start = startServers(['postgres'], options(await state.make(), env));
  const error = await start.then(fail, (reason: unknown) => reason as Error);
  expect(error).toBeInstanceOf(ServerUnavailable);
  expect(error.message).toContain(
    'GATEWAY_POSTGRES_URL is set, but its server cannot be used: password authentication failed',
  );
  expect(error.message).not.toContain('hidden');
});

test('the binary resolver starts the programs of the environment', async () => {
  const directory = await state.make();
  const env: Record<string, string> = { GATEWAY_SERVER_SOURCES: 'binary' };
  for (const name of SERVER_NAMES) {
    const found = await SERVER_KINDS[name].findProject(defaultCacheDirectory(), { fetch: true, log });
    const program = found.programs[0];
    if (!program) throw new Error(found.reasons.join());
    env[SERVER_KINDS[name].binaryVariable] =
      name === 'redis' ? await wrapper(directory, program.path, program.env) : program.path;
  }
  const named = await startServers(SERVER_NAMES, options(directory, env));
  try {
    for (const name of SERVER_NAMES) {
      expect(named[name]).toMatchObject({ resolver: 'binary', version: servers[name].version });
      expect(named[name].source).toContain(SERVER_KINDS[name].binaryVariable);
    }
  } finally {
    await Promise.all(SERVER_NAMES.map((name) => named[name].stop()));
  }
});

test('a named binary that is not a server is skipped with its reason', async () => {
  const env = { GATEWAY_NATS_BINARY: '/bin/true', GATEWAY_SERVER_SOURCES: 'binary,project' };
  const { nats } = await startServers(['nats'], options(await state.make(), env));
  await nats.stop();
  expect(nats.resolver).toBe('project');
  expect(lines).toContain('nats: binary skipped: /bin/true does not report a version');
});

(hasEngine ? test.skip : test)('the docker resolver reports a missing engine', async () => {
  const env = { GATEWAY_SERVER_SOURCES: 'docker' };
  const start = startServers(['redis'], options(await state.make(), env));
  const error = await start.then(fail, (reason: unknown) => reason as Error);
  expect(error).toBeInstanceOf(ServerUnavailable);
  expect(error.message).toContain('docker: no Docker engine responds');
});

test('without any resolver the error lists three remedies', async () => {
  const env = { GATEWAY_SERVER_SOURCES: 'url' };
  const start = startServers(['postgres'], options(await state.make(), env));
  const error = await start.then(fail, (reason: unknown) => reason as Error);
  expect(error.message).toContain('url: GATEWAY_MIGRATION_URL and GATEWAY_POSTGRES_URL not set');
  expect(error.message).toMatch(/1\. give the address.*GATEWAY_MIGRATION_URL=postgres:\/\//);
  expect(error.message).toMatch(/2\. install PostgreSQL 14 or newer.*GATEWAY_POSTGRES_BINARY=/);
  expect(error.message).toMatch(/3\. start a Docker engine/);
});

test('if one server cannot start, the others are stopped', async () => {
  const started: string[] = [];
  const env = {
    GATEWAY_SERVER_SOURCES: 'binary',
    GATEWAY_REDIS_BINARY: '/bin/true',
    GATEWAY_NATS_BINARY: await natsPath(),
  };
  const directory = await state.make();
  const start = startServers(['nats', 'redis'], { ...options(directory, env), log: (line) => started.push(line) });
  await expect(start).rejects.toThrow('Redis could be neither found nor started');
  expect(started.some((line) => line.startsWith('nats: binary selected'))).toBe(true);
  expect(existsSync(join(directory, 'pids', 'nats.json'))).toBe(false);
});

function options(stateDirectory: string, env: Record<string, string>): ServersOptions {
  return {
    stateDirectory,
    env: { PATH: process.env['PATH'], ...env },
    postgres: { superuserPassword: 'secret ä@/' },
    nats: {
      config: 'authorization { user: "bus", password: "secret" }',
      credentials: { user: 'bus', password: 'secret' },
    },
    redis: { password: 'secret' },
    durable: false,
    log,
  };
}

function log(line: string): void {
  lines.push(line);
}

async function natsPath(): Promise<string> {
  const found = await SERVER_KINDS.nats.findProject(defaultCacheDirectory(), { fetch: true, log });
  return found.programs[0]?.path ?? '';
}

/** The unpacked Redis needs a variable to find its libraries, which a named binary does not get. */
async function wrapper(directory: string, path: string, env: Record<string, string>): Promise<string> {
  const file = join(directory, 'redis-server');
  await writeFile(file, `#!/bin/sh\nLD_LIBRARY_PATH='${env['LD_LIBRARY_PATH'] ?? ''}' exec '${path}' "$@"\n`);
  await chmod(file, 0o755);
  return file;
}

function fail(): never {
  throw new Error('the start should have failed');
}
