import type pg from 'pg';
import { LEDGER_SERVICES, migrateServices } from '../migrate-services.js';
import type { MigrateServicesOptions } from '../migrate-services.js';
import { connectDatabase } from './connect.js';
import { SCHEMAS, dumpFile, readManifest } from './manifest.js';
import type { Manifest } from './manifest.js';
import { compareFigures, readFigures } from './read-figures.js';
import { runPostgresTool } from './run-postgres-tool.js';

/**
 * Replaces the database's content by a backup. Refuses, before any change, while a service with
 * tables is connected or if the dump does not match its checksum. Creates missing roles, compares
 * the totals of the backup with the restored tables, and then applies newer migrations. The ledger
 * is a copy until `restored` has given it a new ledger epoch (docs/protocol.md#r17).
 */
export async function restore(options: MigrateServicesOptions, directory: string): Promise<Manifest> {
  const manifest = await readManifest(directory);
  const { client, tools } = await connectDatabase(options.migrationUrl);
  try {
    await refuseWhileUsed(client, options);
    // Creates the roles, which a new server lacks and the dump grants privileges to.
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
  throw new Error(
    `stop billing, accounts and catalog first; still connected: ${rows.map(({ name }) => name).join(', ')}`,
  );
}
