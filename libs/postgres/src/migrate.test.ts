import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { migrationDirectory, recordingLog, startPostgres, testPool, until, type TestServer } from '../test/database.js';
import {
  createDatabaseFromTemplate,
  createPool,
  databaseUrl,
  dropDatabase,
  migrate,
  MigrationHistoryError,
  onPool,
  outboxTableSql,
} from './index.js';

const ROLE = { name: 'gateway_shop', password: "it's a password" };
const START = 'CREATE TABLE item (id bigint PRIMARY KEY);\nGRANT SELECT, INSERT ON item TO ${role};\n';

let server: TestServer;
let url: string;
let databases = 0;

beforeAll(async () => {
  // It changes roles, which all databases of a server share.
  server = await startPostgres();
});

afterAll(() => server.stop());

beforeEach(async () => {
  databases += 1;
  url = await createDatabaseFromTemplate(server.url, `shop_${databases}`, 'template1');
});

function run(directory: string, more: Partial<Parameters<typeof migrate>[0]> = {}) {
  return migrate({ migrationUrl: url, schema: 'shop', directory, role: ROLE, log: recordingLog(), ...more });
}

function roleUrl({ name, password }: { name: string; password: string }): string {
  const own = new URL(url);
  own.username = name;
  own.password = encodeURIComponent(password);
  return own.href;
}

async function attempt(as: string, sql: string): Promise<unknown> {
  const pool = testPool(as);
  try {
    return await onPool(pool).query(sql);
  } catch (error) {
    return (error as { code?: string }).code;
  } finally {
    await pool.end();
  }
}

test('migrate() applies new files in order, once', async () => {
  const directory = migrationDirectory({
    '0001_start.sql': START,
    '0002_more.sql': 'ALTER TABLE item ADD COLUMN n int;',
  });
  expect(await run(directory)).toEqual({ applied: ['0001_start.sql', '0002_more.sql'] });
  expect(await run(directory)).toEqual({ applied: [] });
  writeFileSync(join(directory, '0003_later.sql'), 'ALTER TABLE item ADD COLUMN m int;');
  expect(await run(directory)).toEqual({ applied: ['0003_later.sql'] });
});

test('migrate() gives the role exactly the privileges of the files', async () => {
  await run(migrationDirectory({ '0001_start.sql': START }));
  const own = roleUrl(ROLE);
  expect(await attempt(own, 'INSERT INTO item VALUES (1) RETURNING id')).toEqual([{ id: 1n }]);
  expect(await attempt(own, 'DELETE FROM item')).toBe('42501');
  expect(await attempt(own, 'CREATE TABLE shop.mine (id int)')).toBe('42501');
  expect(await attempt(own, 'CREATE ROLE friend')).toBe('42501');
  expect(await attempt(own, 'SELECT * FROM shop.migrations')).toBe('42501');
  expect(await attempt(own, 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user')).toEqual([
    { rolsuper: false },
  ]);
  expect(await attempt(roleUrl({ ...ROLE, password: 'wrong' }), 'SELECT 1')).toBe('28P01');
});

test('a changed password is effective after the next run', async () => {
  const directory = migrationDirectory({ '0001_start.sql': START });
  await run(directory);
  await run(directory, { role: { ...ROLE, password: 'another' } });
  expect(await attempt(roleUrl({ ...ROLE, password: 'another' }), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(await attempt(roleUrl(ROLE), 'SELECT 1')).toBe('28P01');
});

test('a reader has the privileges of the files and cannot write', async () => {
  const finance = { name: 'gateway_finance_test', password: 'f' };
  const sql = `${START}CREATE VIEW item_view AS SELECT id FROM item;
GRANT USAGE ON SCHEMA \${schema} TO \${finance};
GRANT SELECT ON item_view TO \${finance};`;
  await run(migrationDirectory({ '0001_start.sql': sql }), { readers: { finance } });
  const reader = roleUrl(finance);
  expect(await attempt(reader, 'SELECT * FROM shop.item_view')).toEqual([]);
  expect(await attempt(reader, 'SELECT * FROM shop.item')).toBe('42501');
  expect(await attempt(reader, 'CREATE TEMPORARY TABLE t (id int)')).toBe('25006');
});

test('migrate() refuses a changed or missing applied file', async () => {
  const directory = migrationDirectory({ '0001_start.sql': START, '0002_more.sql': 'CREATE TABLE more (id int);' });
  await run(directory);
  writeFileSync(join(directory, '0002_more.sql'), 'CREATE TABLE more (id bigint);');
  const changed = run(directory);
  await expect(changed).rejects.toThrow(MigrationHistoryError);
  await expect(changed).rejects.toThrow('0002_more.sql was changed after it was applied');
  rmSync(join(directory, '0002_more.sql'));
  await expect(run(directory)).rejects.toThrow('0002_more.sql was applied to this database, but its file is missing');
});

test('migrate() refuses lower and duplicate numbers and invalid file names', async () => {
  const directory = migrationDirectory({ '0002_start.sql': START });
  await run(directory);
  writeFileSync(join(directory, '0001_late.sql'), 'SELECT 1;');
  await expect(run(directory)).rejects.toThrow('0001_late.sql is new, but 0002_start.sql was applied already');
  await expect(run(migrationDirectory({ '0001_a.sql': '', '0001_b.sql': '' }))).rejects.toThrow('number 0001');
  await expect(run(migrationDirectory({ 'notes.txt': '' }))).rejects.toThrow('notes.txt is not');
});

test('a failing file leaves no changes, and the corrected file runs', async () => {
  const directory = migrationDirectory({
    '0001_start.sql': START,
    '0002_more.sql': 'CREATE TABLE more (id int); SELECT 1/0;',
  });
  await expect(run(directory)).rejects.toMatchObject({ code: '22012' });
  expect(await attempt(url, "SELECT to_regclass('shop.item') AS item")).toEqual([{ item: null }]);
  writeFileSync(join(directory, '0002_more.sql'), 'CREATE TABLE more (id int);');
  expect((await run(directory)).applied).toHaveLength(2);
});

test('one of several concurrent runs applies the files, the others do nothing', async () => {
  const directory = migrationDirectory({ '0001_start.sql': `${START}SELECT pg_sleep(0.2);` });
  const results = await Promise.all([run(directory), run(directory), run(directory)]);
  expect(results.flatMap(({ applied }) => applied)).toEqual(['0001_start.sql']);
});

test('migrate() continues after a migrator was killed with the lock', async () => {
  const directory = migrationDirectory({ '0001_start.sql': START });
  await run(directory);
  await attempt(url, 'UPDATE shop.migrations_lock SET is_locked = 1');
  writeFileSync(join(directory, '0002_more.sql'), 'CREATE TABLE more (id int);');
  expect((await run(directory)).applied).toEqual(['0002_more.sql']);
});

test('a migration gives way to a long reader, names it and continues after it', async () => {
  const directory = migrationDirectory({ '0001_start.sql': START });
  await run(directory);
  writeFileSync(join(directory, '0002_more.sql'), 'ALTER TABLE item ADD COLUMN n int;');
  const report = createPool(roleUrl(ROLE), { applicationName: 'report', log: recordingLog() });
  // The server ends a read that takes longer than this.
  const service = createPool(roleUrl(ROLE), {
    applicationName: 'shop',
    statementTimeoutMs: 5_000,
    log: recordingLog(),
  });
  const log = recordingLog();
  const reader = await report.connect();
  try {
    await reader.query('BEGIN');
    await reader.query('SELECT FROM item');
    const migrated = run(directory, { log, waits: { lockMs: 400, blockedMs: 60_000, pauseMs: 50 } });
    await until('the migration waits for the table', async () => {
      const waiting = `SELECT FROM pg_locks WHERE relation = 'shop.item'::regclass AND NOT granted`;
      return ((await attempt(url, waiting)) as unknown[]).length > 0;
    });
    expect(await onPool(service).query('SELECT FROM item')).toEqual([]);
    const told = `"user":"${ROLE.name}","application":"report"`;
    await until('the log names the reader', () => log.lines.some(({ facts }) => JSON.stringify(facts).includes(told)));
    await reader.query('COMMIT');
    expect(await migrated).toEqual({ applied: ['0002_more.sql'] });
  } finally {
    reader.release();
    await Promise.all([report.end(), service.end()]);
  }
});

test('a migration that stays blocked ends without changes', async () => {
  const directory = migrationDirectory({ '0001_start.sql': START });
  await run(directory);
  writeFileSync(join(directory, '0002_more.sql'), 'CREATE TABLE more (id int); ALTER TABLE item ADD COLUMN n int;');
  const report = testPool(url);
  const reader = await report.connect();
  try {
    await reader.query('BEGIN');
    await reader.query('SELECT FROM shop.item');
    const waits = { lockMs: 50, blockedMs: 1, pauseMs: 1 };
    await expect(run(directory, { waits })).rejects.toMatchObject({ code: '55P03' });
    expect(await attempt(url, "SELECT to_regclass('shop.more') AS more")).toEqual([{ more: null }]);
  } finally {
    reader.release(true);
    await report.end();
  }
});

test('different databases of one server can be migrated concurrently', async () => {
  const directory = migrationDirectory({ '0001_start.sql': START });
  const names = ['beside_1', 'beside_2', 'beside_3', 'beside_4'];
  for (const name of names) await createDatabaseFromTemplate(server.url, name, 'template1');
  const runs = names.map((name) => run(directory, { migrationUrl: databaseUrl(server.url, name) }));
  expect((await Promise.all(runs)).map(({ applied }) => applied.length)).toEqual([1, 1, 1, 1]);
});

test('question marks and dollar quotes stay, unknown placeholders are refused', async () => {
  const sql = `CREATE TABLE doc (body jsonb, CHECK (body ? 'x'), note text DEFAULT 'why?');
CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT '?'::text || '$1' $$;`;
  await run(migrationDirectory({ '0001_start.sql': sql }));
  expect(await attempt(url, `INSERT INTO shop.doc VALUES ('{"x": 1}') RETURNING note, shop.f()`)).toEqual([
    { note: 'why?', f: '?$1' },
  ]);
  expect(await attempt(url, `INSERT INTO shop.doc VALUES ('{}')`)).toBe('23514');
  const unknown = migrationDirectory({ '0001_start.sql': 'GRANT SELECT ON x TO ${somebody};' });
  await expect(run(unknown, { schema: 'other' })).rejects.toThrow('${somebody}, which has no value');
});

test('invalid identifiers are refused before anything is done', async () => {
  const directory = migrationDirectory({ '0001_start.sql': START });
  await expect(run(directory, { schema: 'shop"; DROP' })).rejects.toThrow('the name of a schema');
  await expect(run(directory, { role: { name: 'Robert;', password: 'x' } })).rejects.toThrow('the name of a role');
});

test('a copy of a template has its schema and own data and can be dropped in use', async () => {
  await run(migrationDirectory({ '0001_start.sql': START, '0002_outbox.sql': outboxTableSql() }));
  const template = new URL(url).pathname.slice(1);
  const copy = await createDatabaseFromTemplate(server.url, `${template}_copy`, template);
  expect(await attempt(copy, 'INSERT INTO shop.item VALUES (1) RETURNING id')).toEqual([{ id: 1n }]);
  expect(await attempt(url, 'SELECT * FROM shop.item')).toEqual([]);
  const open = testPool(copy);
  await open.query('SELECT 1');
  await dropDatabase(server.url, `${template}_copy`);
  expect(await attempt(copy, 'SELECT 1')).toBe('3D000');
  await open.end();
});
