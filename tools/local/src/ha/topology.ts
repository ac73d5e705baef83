import { freePort, type RunningServer, type ServerName, type ServersOptions } from '@gateway/servers';
import { pause } from '@gateway/service-kit';
import type { Restarter } from '../children/restarter.js';
import type { Secrets } from '../secrets.js';
import { readJson, replaceFile } from '../state-file.js';

export const POSTGRES_MEMBERS = ['postgres-1', 'postgres-2', 'postgres-3'] as const;
export const NATS_MEMBERS = ['nats-1', 'nats-2', 'nats-3'] as const;
export const REDIS_MEMBERS = ['redis-1', 'redis-2'] as const;
export const SENTINEL_MEMBERS = ['sentinel-1', 'sentinel-2', 'sentinel-3'] as const;

/** Environment of the services: streams have a replica on each NATS server. */
export const CLUSTER_ENV = { GATEWAY_STREAM_REPLICAS: String(NATS_MEMBERS.length) };

/** Well below a lease, so that a lost primary is replaced before slots expire. */
export const REDIS_DOWN_AFTER_MS = 3_000;
/** Interval of the search for the current primary of a kind. */
export const LEADER_LOOK_MS = 300;
const LOOK_MS = 100;

/**
 * A commit waits for the first standby to confirm it (docs/decisions/0104). A server's own name in
 * this list has no effect.
 */
export const SYNCHRONOUS = `ANY 1 (${POSTGRES_MEMBERS.map((name) => `"${name}"`).join(', ')})`;

/** The parts for starting the servers of one kind. */
export interface ClusterParts {
  readonly stateDirectory: string;
  readonly secrets: Secrets;
  /** Starts one server and adds it to the members. */
  readonly start: (name: string, kind: ServerName, own: Omit<ServersOptions, 'stateDirectory'>) => Promise<void>;
  /** All started servers by name. */
  readonly members: Record<string, RunningServer>;
  readonly restarter: Restarter;
  /** Returns the port for a connection between servers: the port itself, or that of a proxy. */
  readonly between: (way: string, port: number) => Promise<number>;
}

/** The servers of one kind: their URL for services, and the current primary. */
export interface Group {
  readonly url: string;
  readonly leader: () => RunningServer | undefined;
}

export async function portsFor(names: readonly string[]): Promise<Record<string, number>> {
  const ports: Record<string, number> = {};
  for (const name of names) ports[name] = await freePort();
  return ports;
}

/** Returns the ports for reaching these members from `from`. */
export async function portsFrom(
  from: string,
  ports: Readonly<Record<string, number>>,
  between: ClusterParts['between'],
): Promise<Record<string, number>> {
  const ways: Record<string, number> = {};
  for (const [name, port] of Object.entries(ports)) ways[name] = await between(`${from} to ${name}`, port);
  return ways;
}

/** Returns the addresses of the servers with these ports, separated by commas. */
export function hostsOf(ports: Readonly<Record<string, number>>): string {
  return Object.values(ports)
    .map((port) => `127.0.0.1:${port}`)
    .join(',');
}

/** Polls until `read` returns a value. Its errors count as null. Returns null after `timeoutMs`. */
export async function poll<T>(timeoutMs: number, read: () => Promise<T | null>, everyMs = LOOK_MS): Promise<T | null> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    const found = await read().catch(() => null);
    if (found !== null || performance.now() > untilMs) return found;
    await pause(everyMs);
  }
}

/** Records which PostgreSQL server may start as primary. It is written before a promotion. */
export interface PrimaryRecord {
  readonly primary: string;
  /** URLs of an administrator. */
  readonly urls: Readonly<Record<string, string>>;
  /** The same URLs as seen by standbys. */
  readonly peerUrls: Readonly<Record<string, string>>;
}

export function readRecord(stateDirectory: string): PrimaryRecord | null {
  return readJson(fileOf(stateDirectory)) as PrimaryRecord | null;
}

export function writeRecord(stateDirectory: string, record: PrimaryRecord): void {
  replaceFile(fileOf(stateDirectory), JSON.stringify(record));
}

function fileOf(stateDirectory: string): string {
  return `${stateDirectory}/servers/postgres-primary.json`;
}
