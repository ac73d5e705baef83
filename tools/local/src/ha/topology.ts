import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export const POSTGRES_MEMBERS = ['postgres-1', 'postgres-2', 'postgres-3'] as const;
export const NATS_MEMBERS = ['nats-1', 'nats-2', 'nats-3'] as const;
export const REDIS_MEMBERS = ['redis-1', 'redis-2'] as const;
export const SENTINEL_MEMBERS = ['sentinel-1', 'sentinel-2', 'sentinel-3'] as const;

/** Environment of the services: streams have a replica on each NATS server. */
export const CLUSTER_ENV = { GATEWAY_STREAM_REPLICAS: String(NATS_MEMBERS.length) };

/** Name of the primary for the Sentinels. */
export const REDIS_NAME = 'gateway';
/** Well below a lease, so that a lost primary is replaced before slots expire. */
export const REDIS_DOWN_AFTER_MS = 3_000;
export const SENTINEL_QUORUM = 2;

/**
 * A commit waits for the first standby to confirm it (docs/decisions/0104). A server's own name in
 * this list has no effect.
 */
export const SYNCHRONOUS = `ANY 1 (${POSTGRES_MEMBERS.map((name) => `"${name}"`).join(', ')})`;

/** Records which PostgreSQL server may start as primary. It is written before a promotion. */
export interface PrimaryRecord {
  readonly primary: string;
  /** URLs of an administrator. */
  readonly urls: Readonly<Record<string, string>>;
  /** The same URLs as seen by standbys. */
  readonly peerUrls: Readonly<Record<string, string>>;
}

export function readRecord(stateDirectory: string): PrimaryRecord | null {
  const file = fileOf(stateDirectory);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as PrimaryRecord) : null;
}

/** Replaces the file by a rename, so that a crash leaves the old or the new one. */
export function writeRecord(stateDirectory: string, record: PrimaryRecord): void {
  const file = fileOf(stateDirectory);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function fileOf(stateDirectory: string): string {
  return `${stateDirectory}/servers/postgres-primary.json`;
}
