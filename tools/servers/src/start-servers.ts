import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { natsKind } from './nats-kind.js';
import { postgresKind } from './postgres-kind.js';
import { redisKind } from './redis-kind.js';
import { resolveServer } from './resolve-server.js';
import type { ServerKind } from './server-kind.js';
import type { RunningServer, ServerName, ServersOptions } from './server.js';

export const SERVER_KINDS: Record<ServerName, ServerKind> = {
  postgres: postgresKind,
  nats: natsKind,
  redis: redisKind,
};

/**
 * Finds or starts the named servers in parallel and waits until each is ready. If one fails, stops
 * the started ones and throws its error: `ServerUnavailable` if no resolver provided a server.
 * Started servers end with this process (by a kernel signal, if the system has setpriv) and do not
 * keep it alive.
 */
export async function startServers<Name extends ServerName>(
  names: readonly Name[],
  options: ServersOptions,
): Promise<Record<Name, RunningServer>> {
  const settled: ServersOptions = { ...options, stateDirectory: resolve(options.stateDirectory) };
  if (options.cacheDirectory !== undefined) settled.cacheDirectory = resolve(options.cacheDirectory);
  await mkdir(settled.stateDirectory, { recursive: true });
  const results = await Promise.allSettled(names.map((name) => startServer(SERVER_KINDS[name], settled)));
  const failure = results.find((result) => result.status === 'rejected');
  const running = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (failure) {
    await Promise.allSettled(running.map((server) => server.stop()));
    throw failure.reason;
  }
  return Object.fromEntries(running.map((server) => [server.name, server])) as Record<Name, RunningServer>;
}

async function startServer(kind: ServerKind, options: ServersOptions): Promise<RunningServer> {
  const startedAt = performance.now();
  const server = await resolveServer(kind, options, (candidate) => candidate.start());
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(2);
  const { name, resolver, version, source } = server;
  options.log?.(`${name}: ${resolver} selected: ${kind.title} ${version} from ${source}, ready after ${seconds} s`);
  return server;
}

/**
 * Returns an environment without server URLs, whether set directly or as `NAME_FILE`: for tests
 * that stop, kill and empty their servers.
 */
export function withoutServerUrls(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const variables = Object.values(SERVER_KINDS).flatMap(({ urlVariables }) => urlVariables);
  const unset = variables.flatMap((name) => [name, `${name}_FILE`]).map((name) => [name, '']);
  return { ...env, ...Object.fromEntries(unset) };
}
