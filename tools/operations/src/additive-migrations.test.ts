import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { createDatabaseFromTemplate, migrate } from '@gateway/postgres';
import { silentLog, startTestDatabase, temporaryDirectory } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { findNarrowedElements, readElements } from '../test/schema-elements.js';
import type { SchemaElements } from '../test/schema-elements.js';
import { LEDGER_SERVICES } from './migrate-services.js';
import type { LedgerService } from './migrate-services.js';

interface Release {
  readonly version: string;
  readonly commit: string;
  /** Number of migrations of each service, in the order of `LEDGER_SERVICES`. */
  readonly files: readonly number[];
  /** Of the texts of these migrations; the first 32 hexadecimal digits. */
  readonly sha256: string;
}

const ROOT = new URL('../../../', import.meta.url);
/**
 * A later migration may declare an exception: `-- exception 0.1.0: <kind: name>: why the code of
 * that release tolerates it`.
 */
const MARKER = /^-- exception (\d+\.\d+\.\d+): ([a-z ]+: .+?): \S.*$/gm;
const { releases } = JSON.parse(readText('tools/operations/released-migrations.json')) as { releases: Release[] };

const directory = temporaryDirectory('additive');
const server = duringTests(() => {
  const planted = plant('template', [['0001_notes.sql', 'CREATE TABLE notes (a int);']]);
  // It gives the roles of services another password.
  return startTestDatabase({ service: 'catalog', migrations: pathToFileURL(planted), own: true });
});
let databases = 0;
afterAll(() => directory.remove());

test('the changelog and the recorded migrations have the same releases', () => {
  const named = [...readText('CHANGELOG.md').matchAll(/^## (\d+\.\d+\.\d+)(.*)$/gm)].toReversed();
  const released = named.filter(([, , rest]) => !rest?.includes('not released')).map(([, version]) => version);
  expect(releases.map(({ version }) => version)).toEqual(released);
});

test.each(releases)('release $version: no migration has changed', ({ files, sha256 }) => {
  const hash = createHash('sha256');
  for (const [index, service] of LEDGER_SERVICES.entries())
    for (const file of filesOf(service).slice(0, files[index]))
      hash.update(readText(`services/${service}/migrations/${file}`));
  expect(hash.digest('hex').slice(0, 32)).toBe(sha256);
});

test.each(LEDGER_SERVICES)(
  'the schema of %s only has additions since the newest release',
  async (service) => {
    const release = releases.at(-1);
    const files = filesOf(service);
    const newest = files[(release?.files[LEDGER_SERVICES.indexOf(service)] ?? 0) - 1];
    if (newest === undefined) throw new Error(`the release has no migrations of ${service}`);
    const older = await elementsOf(service, copyUpTo(service, newest));
    const newer = await elementsOf(service, migrationsOf(service));
    expect(older.size).toBeGreaterThan(10);
    const later = files
      .filter((file) => file > newest)
      .map((file) => readFileSync(`${migrationsOf(service)}${file}`, 'utf8'));
    const exceptions = later.flatMap((sql) =>
      [...sql.matchAll(MARKER)].flatMap(([, version, what]) => (version === release?.version ? [what] : [])),
    );
    expect(findNarrowedElements(older, newer).filter((what) => !exceptions.includes(what))).toEqual([]);
  },
  60_000,
);

const BASE = `CREATE TABLE notes (id int PRIMARY KEY, text text, size bigint NOT NULL DEFAULT 0, old text);
GRANT SELECT, INSERT, UPDATE (text) ON notes TO \${role};
CREATE FUNCTION count_notes() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE VIEW short_notes AS SELECT id, text FROM notes;
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';`;

let base: SchemaElements | undefined;

test.each([
  ['ALTER TABLE notes DROP COLUMN old', ['column: notes.old']],
  ['ALTER TABLE notes RENAME COLUMN old TO older', ['column: notes.old']],
  ['ALTER TABLE notes ALTER COLUMN size TYPE int', ['column: notes.size']],
  ['ALTER TABLE notes ALTER COLUMN size DROP DEFAULT', ['value demanded: notes.size']],
  ['ALTER TABLE notes ADD COLUMN more int NOT NULL', ['value demanded: notes.more']],
  ['ALTER TABLE notes ADD CHECK (size < 9)', ['constraint: notes.notes_size_check']],
  ['CREATE UNIQUE INDEX one_text ON notes (text)', ['unique index: notes.one_text']],
  ['REVOKE INSERT ON notes FROM ${role}', ['right to a table: notes insert for gateway_catalog']],
  ['REVOKE UPDATE (text) ON notes FROM ${role}', ['right to a column: notes.text update for gateway_catalog']],
  ['DROP FUNCTION count_notes()', ['function: catalog.count_notes()']],
  ['CREATE TRIGGER kept BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION keep()', ['trigger: notes.kept']],
  ['DROP VIEW short_notes', ['column: short_notes.id', 'column: short_notes.text']],
  ['ALTER TABLE notes ADD COLUMN more int, ADD COLUMN size_2 int NOT NULL DEFAULT 1', []],
  ['CREATE TABLE others (id int PRIMARY KEY, note int NOT NULL REFERENCES notes CHECK (note > 0))', []],
  ['CREATE INDEX by_text ON notes (text); GRANT DELETE ON notes TO ${role}', []],
])('narrowed elements are found: %s', async (change, expected) => {
  const name = `planted-${databases}`;
  base ??= await elementsOf('catalog', plant('base', [['0001_notes.sql', BASE]]));
  const files: [string, string][] = [
    ['0001_notes.sql', BASE],
    ['0002_change.sql', change],
  ];
  const found = findNarrowedElements(base, await elementsOf('catalog', plant(name, files)));
  // A dropped column or table also drops its privileges.
  expect(found.filter((what) => !what.startsWith('right') || expected.includes(what as never))).toEqual(expected);
});

/** Returns the elements of the schema that these migrations create in an empty database. */
async function elementsOf(service: LedgerService, migrations: string): Promise<SchemaElements> {
  databases += 1;
  const url = await createDatabaseFromTemplate(server.postgres.url, `shape_${databases}`, 'template1');
  const role = (name: string): { name: string; password: string } => ({ name: `gateway_${name}`, password: 'shape' });
  await migrate({
    migrationUrl: url,
    schema: service,
    directory: pathToFileURL(migrations),
    role: role(service),
    ...(service === 'billing' ? { readers: { finance: role('finance') } } : {}),
    log: silentLog,
  });
  return readElements(url, service);
}

function copyUpTo(service: LedgerService, newest: string): string {
  const target = `${directory.path}/${service}-${newest}/`;
  mkdirSync(target, { recursive: true });
  for (const file of filesOf(service).filter((name) => name <= newest)) {
    copyFileSync(`${migrationsOf(service)}${file}`, `${target}${file}`);
  }
  return target;
}

function plant(name: string, files: readonly (readonly [string, string])[]): string {
  const target = `${directory.path}/${name}/`;
  mkdirSync(target, { recursive: true });
  for (const [file, sql] of files) writeFileSync(`${target}${file}`, `${sql}\n`);
  return target;
}

function filesOf(service: LedgerService): string[] {
  return readdirSync(migrationsOf(service)).sort();
}

function migrationsOf(service: LedgerService): string {
  return fileURLToPath(new URL(`services/${service}/migrations/`, ROOT));
}

function readText(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}
