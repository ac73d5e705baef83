import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  fchmodSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { BackupTotals } from './read-figures.js';

/** The content of `backup.json`, which is next to the dump. */
export interface Manifest {
  readonly form: 1;
  /** ISO 8601 */
  readonly madeAt: string;
  /** The major version of the server. */
  readonly postgresMajor: number;
  /** SHA-256 of the dump, hexadecimal. */
  readonly sha256: string;
  readonly figures: BackupTotals;
}

export const SCHEMAS = ['billing', 'accounts', 'catalog', 'finance'] as const;
const FILE = 'backup.json';
const FORM = 1;

/** The file whose existence means that the dump is complete. */
export function manifestFile(directory: string): string {
  return join(directory, FILE);
}

export function dumpFile(directory: string): string {
  return join(directory, 'gateway.dump');
}

export function writeManifest(directory: string, manifest: Manifest): void {
  const file = manifestFile(directory);
  createPrivateFile(file);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * Creates an empty file that only its owner can read, independent of the umask. The file keeps its
 * permissions when another program writes it. Throws if the file exists.
 */
export function createPrivateFile(file: string): void {
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    fchmodSync(descriptor, 0o600);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Reads the manifest. Throws if there is no backup, its format is unknown, or the dump does not
 * match its checksum.
 */
export async function readManifest(directory: string): Promise<Manifest> {
  if (!existsSync(manifestFile(directory))) {
    const found = backupsIn(directory);
    throw new Error(`${directory} has no ${FILE}; backups in it: ${found.length === 0 ? 'none' : found.join(', ')}`);
  }
  const manifest = JSON.parse(readFileSync(manifestFile(directory), 'utf8')) as Partial<Manifest>;
  const { form, sha256, figures, postgresMajor, madeAt } = manifest;
  if (form !== FORM || sha256 === undefined || figures === undefined || postgresMajor === undefined || !madeAt) {
    throw new Error(`${FILE} has a format that this release cannot read`);
  }
  if ((await checksum(dumpFile(directory))) !== sha256) throw new Error('the dump does not match its checksum');
  return { form, madeAt, postgresMajor, sha256, figures };
}

/** Returns the names of the complete backups in a directory. */
function backupsIn(directory: string): string[] {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.filter((name) => existsSync(manifestFile(join(directory, name)))).sort();
}

export async function checksum(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
