import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { statSync, writeFileSync } from 'node:fs';
import type { MadeSecrets, Secrets } from './make-secrets-rules.js';
import { CONSUMERS, type Consumer } from './table.js';

/** A person's folder, or the root of a volume that one container mounts read-only. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o400;

/** User IDs that own the files. Without one, files belong to the user of this process. */
export interface Owners {
  readonly all: number | undefined;
  readonly of: Readonly<Partial<Record<Consumer, number>>>;
}

/** Reads `directory/<consumer>/<name>`. */
export function readSecretFiles(directory: string): Secrets {
  const kept: Partial<Record<Consumer, Record<string, string>>> = {};
  for (const consumer of CONSUMERS) {
    const folder = `${directory}/${consumer}`;
    if (!existsSync(folder)) continue;
    // A name with a dot at its beginning is a file that a run did not finish.
    const names = readdirSync(folder).filter((name) => !name.startsWith('.') && statSync(`${folder}/${name}`).isFile());
    kept[consumer] = Object.fromEntries(names.map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')]));
  }
  return kept;
}

/**
 * Writes values that differ to `directory/<consumer>/<name>` with mode 0400 and sets the owners of
 * all. A file appears with its whole text. As root this needs no capability but CHOWN and
 * DAC_OVERRIDE: modes are set while root is the owner.
 */
export function writeSecretFiles(directory: string, made: MadeSecrets, owners: Owners): void {
  mkdirSync(directory, { recursive: true, mode: FOLDER_MODE });
  for (const [consumer, texts] of Object.entries(made.secrets) as [Consumer, Readonly<Record<string, string>>][]) {
    const folder = `${directory}/${consumer}`;
    const owner = owners.of[consumer] ?? owners.all;
    mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
    if (isOwn(folder) && (statSync(folder).mode & 0o777) !== FOLDER_MODE) chmodSync(folder, FOLDER_MODE);
    for (const [name, text] of Object.entries(texts)) {
      const path = `${folder}/${name}`;
      if (existsSync(path) && readFileSync(path, 'utf8') === text) give(path, owner);
      else replaceFile(folder, name, text, owner);
    }
    give(folder, owner);
  }
}

function replaceFile(folder: string, name: string, text: string, owner: number | undefined): void {
  const unfinished = `${folder}/.${name}`;
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, text, { mode: FILE_MODE });
  give(unfinished, owner);
  renameSync(unfinished, `${folder}/${name}`);
}

function give(path: string, owner: number | undefined): void {
  if (owner !== undefined && statSync(path).uid !== owner) chownSync(path, owner, owner);
}

function isOwn(path: string): boolean {
  return statSync(path).uid === process.getuid?.();
}

/**
 * Reads `UID` and `CONSUMER=UID`.
 * @throws Error for another text
 */
export function readOwners(texts: readonly string[]): Owners {
  let all: number | undefined;
  const of: Partial<Record<Consumer, number>> = {};
  for (const text of texts) {
    const [, consumer, uid] = /^(?:([a-z-]+)=)?(\d{1,9})$/.exec(text) ?? [];
    const known = CONSUMERS.find((name) => name === consumer);
    if (uid === undefined || (consumer !== undefined && known === undefined)) {
      throw new Error(`--owner ${text}: give UID or CONSUMER=UID; consumers are ${CONSUMERS.join(', ')}`);
    }
    if (known === undefined) all = Number(uid);
    else of[known] = Number(uid);
  }
  return { all, of };
}
