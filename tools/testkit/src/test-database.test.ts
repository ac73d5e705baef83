import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { duringTests } from './during-tests.js';
import { temporaryDirectory } from './temporary-directory.js';
import { startTestDatabase } from './test-database.js';

const directory = temporaryDirectory('migrations');
const options = { service: 'catalog', migrations: pathToFileURL(`${directory.path}/`) };
const server = duringTests(() => {
  writeFileSync(`${directory.path}/0001_notes.sql`, 'CREATE TABLE notes (text text NOT NULL);\n');
  return startTestDatabase(options);
});
afterAll(() => directory.remove());

test('database() returns a migrated copy with pools for the role and the superuser', async () => {
  const [one, other] = [await server.database(), await server.database()];
  await one.admin.query("INSERT INTO notes VALUES ('one')");
  expect((await one.admin.query('SELECT text FROM notes')).rows).toEqual([{ text: 'one' }]);
  expect((await other.admin.query('SELECT text FROM notes')).rows).toEqual([]);
  expect((await one.pool.query('SELECT current_user AS name')).rows).toEqual([{ name: 'gateway_catalog' }]);
  expect(new URL(one.url).username).toBe('gateway_catalog');
  await expect(one.pool.query('CREATE TABLE gateway_catalog_own (a int)')).rejects.toThrow('permission denied');
});

test('suites with equal migrations share a template, and stop() drops their databases', async () => {
  const { admin } = await server.database();
  const list = async (pattern: string): Promise<string[]> => {
    const found = await admin.query<{ name: string }>('SELECT datname AS name FROM pg_database WHERE datname ~ $1', [
      pattern,
    ]);
    return found.rows.map(({ name }) => name);
  };
  const before = await list('^catalog_');
  const another = await startTestDatabase(options);
  const name = new URL((await another.database()).url).pathname.slice(1);
  expect(await list('^catalog_')).toEqual(expect.arrayContaining([...before, name]));
  expect(await list('_draft$')).toEqual([]);
  await another.stop();
  expect(await list(`^${name}$`)).toEqual([]);
});
