import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Addresses } from './addresses.js';
import type { Supervisor } from './children/supervisor.js';
import type { Secrets } from './secrets.js';
import { DEFAULT_STATE, readJson, replaceFile } from './state-file.js';
import type { Servers } from './system-options.js';

/** The content of `<state>/running.json`, for other programs. */
export type RunningFile = Readonly<ReturnType<typeof runningContent>>;

/**
 * Reads the running system of a state directory, `.state` by default. Ends the process with a
 * message if none is running.
 */
export function readRunning(directory: string | undefined): { readonly state: string; readonly running: RunningFile } {
  const state = resolve(directory ?? DEFAULT_STATE);
  const running = readJson(`${state}/running.json`) as RunningFile | null;
  if (running !== null) return { state, running };
  console.error(`no system is running on ${state}: start it with "npm start"`);
  process.exit(1);
}

/** The parts of a running system from which the file is built. */
export interface RunningParts {
  readonly servers: Servers['servers'];
  readonly members: Servers['members'];
  readonly addresses: Pick<Addresses, 'publicUrl' | 'dashboardUrl'>;
  readonly secrets: Pick<Secrets, 'operatorToken'>;
  readonly supervisor: Pick<Supervisor, 'all' | 'edgeUrls' | 'operatorUrls' | 'providerUrls'>;
  readonly starterPid: number;
  readonly demoApiKey: string | null;
}

export function runningContent(parts: RunningParts) {
  const { servers, members, addresses, supervisor } = parts;
  const { edgeUrls, operatorUrls, providerUrls } = supervisor;
  const edgeUrl = edgeUrls[0] ?? addresses.publicUrl;
  const adminUrls: Record<string, string[]> = {};
  const pids: Record<string, number[]> = { starter: [parts.starterPid] };
  // A server given by URL and a stopped child have no pid.
  for (const [name, { pid }] of Object.entries(members)) pids[name] = pid === null ? [] : [pid];
  for (const [name, children] of supervisor.all()) {
    adminUrls[name] = children.map((child) => child.adminUrl);
    pids[name] = children.flatMap(({ pid }) => pid ?? []);
  }
  return {
    edgeUrl,
    edgeUrls,
    chatBaseUrl: `${edgeUrl}/v1`,
    messagesBaseUrl: edgeUrl,
    dashboardUrl: addresses.dashboardUrl,
    /** The address of the operator API, with `/operator/v1`. */
    operatorUrl: `${operatorUrls[0] ?? ''}/operator/v1`,
    operatorToken: parts.secrets.operatorToken,
    demoApiKey: parts.demoApiKey,
    providerUrls,
    natsUrl: servers.nats.url,
    redisUrl: servers.redis.url,
    postgresUrl: servers.postgres.url,
    adminUrls,
    pids,
  };
}

/** Manages `running.json`, which exists from the announcement of the system until its stop. */
export class RunningJson {
  readonly #file: string;
  /** Null while there is no file. */
  #content: (() => RunningFile) | null = null;

  constructor(stateDirectory: string) {
    this.#file = `${stateDirectory}/running.json`;
  }

  announce(content: () => RunningFile): void {
    this.#content = content;
    this.rewrite();
  }

  /** Writes the current content. It has credentials, so only its owner may read it. */
  rewrite(): void {
    if (this.#content !== null) replaceFile(this.#file, JSON.stringify(this.#content(), null, 2));
  }

  /** Removes the file, also one of a killed system. */
  remove(): void {
    this.#content = null;
    rmSync(this.#file, { force: true });
  }
}
