import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ResolverSkipped } from './server-kind.js';
import type { ServerKind } from './server-kind.js';
import type { RunningServer, ServersOptions } from './server.js';
import { waitUntil } from './wait-until.js';

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
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  try {
    await getContainerRuntimeClient();
  } catch (error) {
    throw new ResolverSkipped(`no Docker engine responds: ${(error as Error).message}`);
  }
  const port = options.ports?.[kind.name] ?? 0;
  let description = new GenericContainer(plan.image)
    .withExposedPorts(port === 0 ? plan.port : { container: plan.port, host: port })
    .withEnvironment(plan.environment)
    .withCommand(plan.command)
    .withCopyContentToContainer(plan.files);
  if (options.durable ?? true) {
    const source = await volumeName(kind, options.stateDirectory);
    description = description.withBindMounts([{ source, target: plan.dataDirectory, mode: 'rw' }]);
  }
  const container = await description.start().catch((error: unknown) => {
    throw new ResolverSkipped(`${plan.image} does not start: ${(error as Error).message}`);
  });
  const stop = async (): Promise<void> => void (await container.stop({ timeout: STOP_MAX_MS, remove: true }));
  const url = kind.url(container.getMappedPort(plan.port), options).replace('127.0.0.1', container.getHost());
  const version = await waitForVersion(kind, url);
  if (version === null) {
    await stop();
    throw new ResolverSkipped(`${plan.image} started, but did not respond within ${READY_MAX_MS} ms`);
  }
  return {
    name: kind.name,
    resolver: 'docker',
    url,
    version,
    pid: null,
    source: `container image ${plan.image}`,
    stop,
  };
}

async function waitForVersion(kind: ServerKind, url: string): Promise<string | null> {
  let version: string | null = null;
  await waitUntil(READY_MAX_MS, async () => {
    version = await kind.probe(url, PROBE_TIMEOUT_MS).then(
      (answer) => answer.version,
      () => null,
    );
    return version !== null;
  });
  return version;
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
