import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { UsageError } from './program.js';

/** Stores the secret of a new key. `key` is its ID in the file: `<account>/<key>`. */
export type SaveSecret = (key: string, secret: string) => void;

interface SecretsFile {
  readonly items: object[];
}

/**
 * Opens the file of `--secrets-to`: a list of Kubernetes Secrets `<account>.<key>` in JSON, which
 * only its owner can read. New keys are added to those of earlier runs.
 * @throws UsageError if the file has other content
 */
export function openSecretsFile(path: string): SaveSecret {
  const items = existsSync(path) ? readItems(path) : [];
  const write = (): void => {
    // Replaces the file as a whole: earlier secrets cannot be read again.
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2);
    writeFileSync(`${path}.new`, `${text}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  };
  // Fails before a key is created if the file cannot be written.
  write();
  return (key, secret) => {
    const name = key.replace('_', '-').replace('/', '.');
    items.push({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { 'api-key': secret } });
    write();
  };
}

function readItems(path: string): object[] {
  try {
    return [...(JSON.parse(readFileSync(path, 'utf8')) as SecretsFile).items];
  } catch {
    throw new UsageError(`--secrets-to ${path}: the file exists and has no list of Secrets; name another one`);
  }
}
