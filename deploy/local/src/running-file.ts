import { renameSync, rmSync, writeFileSync } from 'node:fs';

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

/** Writes the file beside and renames it, readable by its owner only: it holds credentials. */
export function writeRunningFile(stateDirectory: string, running: RunningFile): void {
  const file = `${stateDirectory}/running.json`;
  writeFileSync(`${file}.new`, `${JSON.stringify(running, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

export function removeRunningFile(stateDirectory: string): void {
  rmSync(`${stateDirectory}/running.json`, { force: true });
}
