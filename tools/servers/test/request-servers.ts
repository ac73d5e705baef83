import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import { connect } from 'nats';
import pg from 'pg';

const TIMEOUT_MS = 5_000;

/** Whether this machine has a Docker engine that testcontainers finds. */
export const hasEngine = process.env['DOCKER_HOST'] !== undefined || existsSync('/var/run/docker.sock');

/** Runs one statement on a PostgreSQL server and returns its rows. */
export async function sql(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: TIMEOUT_MS });
  await client.connect();
  try {
    const result = await client.query<Record<string, unknown>>(text);
    return result.rows;
  } finally {
    await client.end();
  }
}

/** Runs one command on a Redis server and returns its response as text. */
export async function redis(url: string, command: string, ...words: string[]): Promise<string> {
  const client = new Redis(url, { retryStrategy: () => null, connectTimeout: TIMEOUT_MS, enableReadyCheck: false });
  client.on('error', () => undefined);
  try {
    return String(await client.call(command, ...words));
  } finally {
    client.disconnect();
  }
}

/** Sends a request over NATS and returns the payload of the reply. */
export async function natsRequest(url: string, subject: string, body: string): Promise<string> {
  const { host, username, password } = new URL(url);
  const login = username === '' ? {} : { user: username, pass: password };
  const client = await connect({ servers: host, ...login, timeout: TIMEOUT_MS });
  try {
    return (await client.request(subject, body, { timeout: TIMEOUT_MS })).string();
  } finally {
    await client.close();
  }
}

/** Reports whether a process exists and is not a zombie. */
export function isRunning(pid: number, readState: (pid: number) => string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/^State:\s+Z/m.test(readState(pid));
}
