import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { connectDatabase } from './connect.js';
import { SCHEMAS, checksum, createPrivateFile, dumpFile, writeManifest } from './manifest.js';
import type { Manifest } from './manifest.js';
import { readFigures } from './read-figures.js';
import { runPostgresTool } from './run-postgres-tool.js';

/**
 * Writes one snapshot of all schemas and its totals into an empty or new directory while the system
 * runs. The directory gets its manifest only when the dump is complete. Only the owner can read the
 * files, because they contain password hashes and sealed credentials.
 */
export async function backUp(migrationUrl: string, directory: string): Promise<Manifest> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (readdirSync(directory).length > 0) throw new Error(`${directory} is not empty`);
  const { client, major, tools } = await connectDatabase(migrationUrl);
  try {
    const madeAt = new Date().toISOString();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows } = await client.query<{ snapshot: string }>('SELECT pg_export_snapshot() AS snapshot');
    const figures = await readFigures(client);
    const file = dumpFile(directory);
    const args = [
      '--format=custom',
      `--snapshot=${rows[0]?.snapshot ?? ''}`,
      ...SCHEMAS.map((schema) => `--schema=${schema}`),
      `--file=${file}.part`,
      '--no-password',
    ];
    createPrivateFile(`${file}.part`);
    await runPostgresTool(tools.pgDump, args, migrationUrl);
    await client.query('COMMIT');
    renameSync(`${file}.part`, file);
    const manifest: Manifest = { form: 1, madeAt, postgresMajor: major, sha256: await checksum(file), figures };
    writeManifest(directory, manifest);
    return manifest;
  } finally {
    await client.end();
  }
}
