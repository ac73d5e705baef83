import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServers, type RunningServer } from '@gateway/servers';
import type { Log, Pool } from '../src/index.js';
import { createPool } from '../src/index.js';

export interface TestServer {
  readonly url: string;
  readonly server: RunningServer;
  stop(): Promise<void>;
}

/**
 * A PostgreSQL server of its own; `resolvers` names where it may come from (see @gateway/servers).
 */
export async function startPostgres(resolvers?: string): Promise<TestServer> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  const { postgres } = await startServers(['postgres'], {
    stateDirectory,
    durable: false,
    postgres: { superuserPassword: 'a password for tests' },
    env: resolvers === undefined ? process.env : { ...process.env, GATEWAY_SERVERS_RUNGS: resolvers },
  });
  return {
    url: postgres.url,
    server: postgres,
    async stop() {
      await postgres.stop();
      for (const directory of [stateDirectory, ...migrationDirectories.splice(0)]) {
        rmSync(directory, { recursive: true, force: true });
      }
    },
  };
}

/** A standby of `primary`, which answers with a lag of milliseconds. */
export async function startStandby(primary: TestServer): Promise<TestServer> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-standby-'));
  const { postgres } = await startServers(['postgres'], {
    stateDirectory,
    durable: false,
    postgres: {
      superuserPassword: 'a password for tests',
      follows: () => Promise.resolve({ url: primary.url, name: 'standby' }),
    },
  });
  return {
    url: postgres.url,
    server: postgres,
    async stop() {
      await postgres.stop();
      rmSync(stateDirectory, { recursive: true, force: true });
    },
  };
}

export interface RecordingLog extends Log {
  readonly lines: { level: string; facts: object; text: string }[];
}

export function recordingLog(): RecordingLog {
  const lines: RecordingLog['lines'] = [];
  const at = (level: string) => (facts: object, text: string) => void lines.push({ level, facts, text });
  return { lines, info: at('info'), warn: at('warn'), error: at('error') };
}

export function testPool(url: string, log: Log = recordingLog()): Pool {
  return createPool(url, { applicationName: 'test', log });
}

/** Removed when a server of this test stops. */
const migrationDirectories: string[] = [];

/** A directory of migrations; the caller may write more files into it. */
export function migrationDirectory(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-migrations-'));
  migrationDirectories.push(directory);
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(directory, name), sql);
  return directory;
}

const UNTIL_MS = 10_000;
const LOOK_MS = 10;

/**
 * Asks until the answer is true, for at most ten seconds. Testkit's, which tests of this room
 * cannot use: it is built on it.
 */
export async function until(what: string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + UNTIL_MS;
  while (!(await ask())) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${UNTIL_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
