import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface MigrationFile {
  /** `NNNN_name.sql` */
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file before its placeholders are filled in. */
  readonly checksum: string;
}

export interface AppliedMigration {
  readonly name: string;
  readonly checksum: string | null;
}

const FILE_FORM = /^\d{4}_[a-z0-9]+([_-][a-z0-9]+)*\.sql$/;

/**
 * Reads the migrations of a directory in their order. Throws on another file name and on a
 * duplicate number.
 */
export function readMigrationFiles(directory: URL | string): MigrationFile[] {
  const path = directory instanceof URL ? fileURLToPath(directory) : directory;
  const names = readdirSync(path).sort();
  const stranger = names.find((name) => !FILE_FORM.test(name));
  if (stranger !== undefined) throw new Error(`migrations are named NNNN_name.sql; ${stranger} is not`);
  const twice = names.find((name, index) => index > 0 && numberOf(name) === numberOf(names[index - 1] as string));
  if (twice !== undefined) throw new Error(`two migrations have the number ${numberOf(twice)}`);
  return names.map((name) => {
    const sql = readFileSync(join(path, name), 'utf8');
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}

/** The database has other migrations than these files and cannot be migrated with them. */
export class MigrationHistoryError extends Error {}

/**
 * Compares the applied migrations with the files. Migrations only go forward: a removed or changed
 * applied file, and a new file that sorts before an applied one, are errors.
 * @throws MigrationHistoryError
 */
export function checkHistory(files: readonly MigrationFile[], applied: readonly AppliedMigration[]): void {
  const byName = new Map(files.map((file) => [file.name, file]));
  for (const { name, checksum } of applied) {
    const file = byName.get(name);
    if (!file) {
      throw new MigrationHistoryError(`migration ${name} was applied to this database, but its file is missing`);
    }
    if (file.checksum !== checksum) {
      throw new MigrationHistoryError(
        `migration ${name} was changed after it was applied to this database; write a new migration`,
      );
    }
  }
  const done = new Set(applied.map(({ name }) => name));
  const last = [...done].sort().at(-1) ?? '';
  const late = files.find(({ name }) => !done.has(name) && name < last);
  if (late) {
    throw new MigrationHistoryError(
      `migration ${late.name} is new, but ${last} was applied already; give it a higher number`,
    );
  }
}

/** Replaces each `${name}` by its value. Throws for an unknown name. */
export function fillPlaceholders({ name, sql }: MigrationFile, values: Readonly<Record<string, string>>): string {
  return sql.replace(/\$\{(\w+)\}/g, (placeholder, key: string) => {
    const value = values[key];
    if (value === undefined) throw new Error(`migration ${name} uses ${placeholder}, which has no value`);
    return value;
  });
}

function numberOf(name: string): string {
  return name.slice(0, 4);
}
