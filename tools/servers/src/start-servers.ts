import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { resolveServer } from './resolve-server.js';
import { natsKind } from './nats-kind.js';
import { postgresKind } from './postgres-kind.js';
import { redisKind } from './redis-kind.js';
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
  const starts = names.map((name) => resolveServer(SERVER_KINDS[name], settled));
  const results = await Promise.allSettled(starts);
  const failure = results.find((result) => result.status === 'rejected');
  const running = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (failure) {
    await Promise.allSettled(running.map((server) => server.stop()));
    throw failure.reason;
  }
  return Object.fromEntries(running.map((server) => [server.name, server])) as Record<Name, RunningServer>;
}
