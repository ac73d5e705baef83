import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from './run-command.js';
import { ResolverSkipped, type ServerKind } from './server-kind.js';
import type { RunningServer, ServersOptions } from './server.js';

const READY_MAX_MS = 60_000;
const PROBE_TIMEOUT_MS = 1_000;
const STOP_MAX_MS = 15_000;

/**
 * Starts the server with a Docker engine. testcontainers is loaded only here, because it is large
 * and needs an engine. Durable data is in a named volume. The state directory stores its name, so
 * deleted state starts empty.
 */
export async function startContainer(kind: ServerKind, options: ServersOptions): Promise<RunningServer> {
  const plan = kind.container(options);
  const { GenericContainer } = await import('testcontainers');
  const port = options.ports?.[kind.name] ?? 0;
  let description = new GenericContainer(plan.image)
    .withExposedPorts(port === 0 ? plan.port : { container: plan.port, host: port })
    .withEnvironment(plan.environment ?? {})
    .withCommand(plan.command)
    .withCopyContentToContainer(plan.files ?? []);
  if (options.durable ?? true) {
    const source = await volumeName(kind, options.stateDirectory);
    // A name is given once, so that two servers never use one volume.
    description = description.withName(source).withBindMounts([{ source, target: plan.dataDirectory, mode: 'rw' }]);
  }
  const container = await description.start().catch((error: unknown) => {
    throw new ResolverSkipped(`${plan.image} does not start: ${(error as Error).message}`);
  });
  const stop = async (): Promise<void> => void (await container.stop({ timeout: STOP_MAX_MS, remove: true }));
  const url = kind.url(container.getMappedPort(plan.port), options).replace('127.0.0.1', container.getHost());
  let version = '';
  const isReady = await waitUntil(READY_MAX_MS, async () => {
    version = (await kind.probe(url, PROBE_TIMEOUT_MS).catch(() => null))?.version ?? '';
    return version !== '';
  });
  if (!isReady) {
    await stop();
    throw new ResolverSkipped(`${plan.image} started, but did not respond within ${READY_MAX_MS} ms`);
  }
  return { name: kind.name, resolver: 'docker', url, version, pid: null, source: containerSource(kind, options), stop };
}

/** Reports why containers cannot run, or returns null. */
export async function findEngineProblem(): Promise<string | null> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => null,
    (error: Error) => `no Docker engine responds: ${error.message}`,
  );
}

export function containerSource(kind: ServerKind, options: ServersOptions): string {
  return `container image ${kind.container(options).image}`;
}

async function volumeName(kind: ServerKind, stateDirectory: string): Promise<string> {
  const directory = join(stateDirectory, 'docker-volumes');
  const file = join(directory, kind.name);
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored !== '') return stored;
  const name = `gateway-${kind.name}-${randomUUID()}`;
  await mkdir(directory, { recursive: true });
  await writeFile(file, name);
  return name;
}
