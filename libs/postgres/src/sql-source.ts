import type { Knex } from 'knex';
import { fillPlaceholders, type MigrationFile } from './migration-files.js';

/** Beside Knex's own history: what each applied file held. */
export const CHECKSUM_TABLE = 'migration_checksums';

/**
 * Hands SQL files to Knex as migrations; each writes down its checksum in the transaction that
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
 * Knex takes `?` for a binding unless a backslash precedes it; there is no way to write a backslash
 * before a `?`.
 */
function withoutBindings(sql: string, name: string): string {
  if (sql.includes('\\?')) throw new Error(`migration ${name} holds a backslash before a question mark`);
  return sql.replaceAll('?', '\\?');
}
