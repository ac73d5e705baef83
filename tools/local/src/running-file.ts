import type { RunningServer } from '@gateway/servers';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Addresses } from './addresses.js';
import type { Child } from './children/child.js';
import type { Supervisor } from './children/supervisor.js';
import type { Foundations } from './foundations.js';
import type { Secrets } from './secrets.js';

/** The content of `<state>/running.json`, for other programs. */
export interface RunningFile {
  readonly edgeUrl: string;
  readonly edgeUrls: readonly string[];
  readonly chatBaseUrl: string;
  readonly messagesBaseUrl: string;
  readonly dashboardUrl: string;
  /** The address of the operator API, with `/operator/v1`. */
  readonly operatorUrl: string;
  readonly operatorToken: string;
  readonly demoApiKey: string | null;
  readonly providerUrls: readonly string[];
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly adminUrls: Readonly<Record<string, readonly string[]>>;
  readonly pids: Readonly<Record<string, readonly number[]>>;
}

/**
 * Reads the running system of a state directory, `.state` by default. Ends the process with a
 * message if none is running.
 */
export function readRunning(directory: string | undefined): { readonly state: string; readonly running: RunningFile } {
  const state = resolve(directory ?? fileURLToPath(new URL('../../../.state', import.meta.url)));
  const file = `${state}/running.json`;
  if (!existsSync(file)) {
    console.error(`no system is running on ${state}: start it with "npm start"`);
    process.exit(1);
  }
  return { state, running: JSON.parse(readFileSync(file, 'utf8')) as RunningFile };
}

/** The parts of a running system from which the file is built. */
export interface RunningParts {
  readonly servers: Foundations['servers'];
  readonly members: Foundations['members'];
  readonly addresses: Pick<Addresses, 'publicUrl' | 'dashboardUrl'>;
  readonly secrets: Pick<Secrets, 'operatorToken'>;
  readonly supervisor: Pick<Supervisor, 'all' | 'edgeUrls' | 'operatorUrls' | 'providerUrls'>;
  readonly starterPid: number;
  readonly demoApiKey: string | null;
}

export function runningContent({
  servers,
  members,
  addresses,
  secrets,
  supervisor,
  starterPid,
  demoApiKey,
}: RunningParts): RunningFile {
  const all = supervisor.all();
  const { edgeUrls, operatorUrls } = supervisor;
  const edgeUrl = edgeUrls[0] ?? addresses.publicUrl;
  return {
    edgeUrl,
    edgeUrls,
    chatBaseUrl: `${edgeUrl}/v1`,
    messagesBaseUrl: edgeUrl,
    dashboardUrl: addresses.dashboardUrl,
    operatorUrl: `${operatorUrls[0] ?? ''}/operator/v1`,
    operatorToken: secrets.operatorToken,
    demoApiKey,
    providerUrls: supervisor.providerUrls,
    natsUrl: servers.nats.url,
    redisUrl: servers.redis.url,
    postgresUrl: servers.postgres.url,
    adminUrls: Object.fromEntries(all.map(([name, list]) => [name, list.map((child) => child.adminUrl)])),
    pids: {
      starter: [starterPid],
      ...Object.fromEntries(Object.entries(members).map(([name, server]) => [name, pidsOf([server])])),
      ...Object.fromEntries(all.map(([name, list]) => [name, pidsOf(list)])),
    },
  };
}

/** A server given by URL and a stopped child have no pid. */
function pidsOf(processes: readonly Pick<RunningServer | Child, 'pid'>[]): number[] {
  return processes.flatMap(({ pid }) => pid ?? []);
}

/**
 * Manages `running.json` of one system, which exists from its announcement until the stop. Each
 * change rewrites it.
 */
export class RunningJson {
  readonly #stateDirectory: string;
  /** Null while there is no file. */
  #content: (() => RunningFile) | null = null;

  constructor(stateDirectory: string) {
    this.#stateDirectory = stateDirectory;
  }

  announce(content: () => RunningFile): void {
    this.#content = content;
    this.rewrite();
  }

  /** Writes a new file and renames it. It has credentials, so only its owner may read it. */
  rewrite(): void {
    if (this.#content === null) return;
    const file = `${this.#stateDirectory}/running.json`;
    writeFileSync(`${file}.new`, `${JSON.stringify(this.#content(), null, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  /** Removes the file, also one of a killed system. */
  remove(): void {
    this.#content = null;
    rmSync(`${this.#stateDirectory}/running.json`, { force: true });
  }
}
