import type pg from 'pg';
import { LEDGER_SERVICES, migrateServices } from '../migrate-services.js';
import type { MigrateServicesOptions } from '../migrate-services.js';
import { connectDatabase } from './connect.js';
import { SCHEMAS, dumpFile, readManifest } from './manifest.js';
import type { Manifest } from './manifest.js';
import { compareFigures, readFigures } from './read-figures.js';
import { runPostgresTool } from './run-postgres-tool.js';

/**
 * Puts a backup in the place of what the database has. Refuses, before anything is touched, while a
 * service with tables is connected, and when the dump is not what was made. Makes the roles where
 * they are missing, compares the figures of the backup with those of the restored tables, and then
 * applies the migrations that are newer than the backup. The ledger is a copy until `restored` has
 * given it a new ledger epoch (docs/protocol.md#r17).
 */
export async function restore(options: MigrateServicesOptions, directory: string): Promise<Manifest> {
  const manifest = await readManifest(directory);
  const { client, tools } = await connectDatabase(options.migrationUrl);
  try {
    await refuseWhileUsed(client, options);
    // A new server has no roles, and the dump grants to them.
    await migrateServices(options);
    await client.query(`DROP SCHEMA IF EXISTS ${SCHEMAS.join(', ')} CASCADE`);
    const args = ['--exit-on-error', '--single-transaction', '--no-owner', '--no-password', dumpFile(directory)];
    await runPostgresTool(tools.pgRestore, args, options.migrationUrl);
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const differences = compareFigures(manifest.figures, await readFigures(client));
    await client.query('COMMIT');
    if (differences.length > 0) throw new Error(`the restored tables differ: ${differences.join('; ')}`);
    await migrateServices(options);
    return manifest;
  } finally {
    await client.end();
  }
}

async function refuseWhileUsed(client: pg.ClientBase, { roles }: MigrateServicesOptions): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT usename AS name FROM pg_stat_activity
      WHERE datname = current_database() AND usename = ANY ($1) ORDER BY 1`,
    [LEDGER_SERVICES.map((service) => roles[service].name)],
  );
  if (rows.length === 0) return;
  throw new Error(`stop billing, accounts and catalog first: connected is ${rows.map(({ name }) => name).join(', ')}`);
}
