import type { Knex } from 'knex';
import { fillPlaceholders, type MigrationFile } from './migration-files.js';

/** Stored next to Knex's own history: the checksum of each applied file. */
export const CHECKSUM_TABLE = 'migration_checksums';

/**
 * Provides SQL files to Knex as migrations. Each stores its checksum in the transaction that
 * applies it.
 */
export function sqlSource(
  files: readonly MigrationFile[],
  schema: string,
  values: Readonly<Record<string, string>>,
): Knex.MigrationSource<MigrationFile> {
  return {
    getMigrations: () => Promise.resolve([...files]),
    getMigrationName: ({ name }) => name,
    getMigration: (file) =>
      Promise.resolve({
        async up(tx: Knex) {
          await tx.raw(withoutBindings(fillPlaceholders(file, values), file.name));
          await tx.raw(`INSERT INTO ${schema}.${CHECKSUM_TABLE} (name, checksum) VALUES (?, ?)`, [
            file.name,
            file.checksum,
          ]);
        },
        down: () => Promise.reject(new Error('migrations only go forward')),
      }),
  };
}

/**
 * Knex treats `?` as a binding unless a backslash precedes it. A backslash before a `?` can
 * therefore not be represented.
 */
function withoutBindings(sql: string, name: string): string {
  if (sql.includes('\\?')) throw new Error(`migration ${name} contains a backslash before a question mark`);
  return sql.replaceAll('?', '\\?');
}
