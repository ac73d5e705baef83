import type { RunningServer } from '@gateway/servers';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Addresses } from './addresses.js';
import type { Child } from './children/child.js';
import type { Crew } from './children/crew.js';
import type { Foundations } from './foundations.js';
import type { Secrets } from './secrets.js';

/** What `<state>/running.json` tells other programs (interfaces, Commands). Names of services not built are left out. */
export interface RunningFile {
  readonly edgeUrl: string;
  readonly edgeUrls: readonly string[];
  readonly chatBaseUrl: string;
  readonly messagesBaseUrl: string;
  readonly dashboardUrl: string;
  /** Of the operator API, with `/operator/v1`. */
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

/** What a running system is made of, as far as other programs may know it. */
export interface RunningParts {
  readonly servers: Foundations['servers'];
  readonly addresses: Pick<Addresses, 'publicUrl' | 'dashboardUrl'>;
  readonly secrets: Pick<Secrets, 'operatorToken'>;
  readonly crew: Pick<Crew, 'all' | 'edgeUrls' | 'operatorUrls' | 'providerUrls'>;
  readonly starterPid: number;
  readonly demoApiKey: string | null;
}

/** The content of the file at this moment. */
export function runningFacts({ servers, addresses, secrets, crew, starterPid, demoApiKey }: RunningParts): RunningFile {
  const all = crew.all();
  const { edgeUrls, operatorUrls } = crew;
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
    providerUrls: crew.providerUrls,
    natsUrl: servers.nats.url,
    redisUrl: servers.redis.url,
    postgresUrl: servers.postgres.url,
    adminUrls: Object.fromEntries(all.map(([name, list]) => [name, list.map((child) => child.adminUrl)])),
    pids: {
      starter: [starterPid],
      ...Object.fromEntries(Object.values(servers).map((server) => [server.name, pidsOf([server])])),
      ...Object.fromEntries(all.map(([name, list]) => [name, pidsOf(list)])),
    },
  };
}

/** Of a server that is given by URL, or a child that is down, there is none. */
function pidsOf(processes: readonly Pick<RunningServer | Child, 'pid'>[]): number[] {
  return processes.flatMap(({ pid }) => pid ?? []);
}

/** `running.json` of one system: there from its announcement until it stops, and written anew with each change. */
export class RunningJson {
  readonly #stateDirectory: string;
  /** Null while there is no file. */
  #facts: (() => RunningFile) | null = null;

  constructor(stateDirectory: string) {
    this.#stateDirectory = stateDirectory;
  }

  announce(facts: () => RunningFile): void {
    this.#facts = facts;
    this.rewrite();
  }

  /** Beside it and renamed, readable by its owner only: it holds credentials. */
  rewrite(): void {
    if (this.#facts === null) return;
    const file = `${this.#stateDirectory}/running.json`;
    writeFileSync(`${file}.new`, `${JSON.stringify(this.#facts(), null, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  /** Also one that a killed system left. */
  remove(): void {
    this.#facts = null;
    rmSync(`${this.#stateDirectory}/running.json`, { force: true });
  }
}
