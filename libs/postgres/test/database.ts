import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServers, type RunningServer } from '@gateway/servers';
import { patientClock } from '@gateway/testkit/clocks';
import { borrowServer, SHARED_POSTGRES } from '@gateway/testkit/borrow-server';
import { createDatabaseFromTemplate, createPool, dropDatabase, type Log, type Pool } from '../src/index.js';

export interface TestServer {
  readonly url: string;
  readonly server: RunningServer;
  stop(): Promise<void>;
}

/** An empty database on the server that suites share. */
export async function startDatabase(): Promise<Pick<TestServer, 'url' | 'stop'>> {
  const { server, place, stop } = await borrowServer(SHARED_POSTGRES);
  const name = `empty_${place}`;
  const url = await createDatabaseFromTemplate(server.url, name, 'template1');
  return {
    url,
    async stop() {
      await dropDatabase(server.url, name);
      await stop();
    },
  };
}

/**
 * Starts a private PostgreSQL server. `resolvers` names the allowed ways to find one (see
 * @gateway/servers).
 */
export async function startPostgres(resolvers?: string): Promise<TestServer> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  const { postgres } = await startServers(['postgres'], {
    stateDirectory,
    durable: false,
    postgres: { superuserPassword: 'a password for tests' },
    env: resolvers === undefined ? process.env : { ...process.env, GATEWAY_SERVER_SOURCES: resolvers },
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

/** Starts a standby of `primary`, which follows with a lag of milliseconds. */
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
  return createPool(url, { applicationName: 'test', log, clock: patientClock });
}

/** Removed when a server of this test stops. */
const migrationDirectories: string[] = [];

/** Creates a directory of migrations. The caller may add files. */
export function migrationDirectory(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-migrations-'));
  migrationDirectories.push(directory);
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(directory, name), sql);
  return directory;
}

const UNTIL_MS = 45_000;
const LOOK_MS = 10;

/**
 * Repeats the check until it is true, for at most 45 s. This package cannot use the test
 * kit's `until`, because the test kit depends on this package.
 */
export async function until(what: string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + UNTIL_MS;
  while (!(await ask())) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${UNTIL_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
