import { mkdirSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { temporaryDirectory } from './temporary-directory.js';
import { startTestDatabase, type TestDatabaseServer } from './test-database.js';

const directory = temporaryDirectory('migrations');
let server: TestDatabaseServer;
beforeAll(async () => {
  mkdirSync(directory.path, { recursive: true });
  writeFileSync(`${directory.path}/0001_notes.sql`, 'CREATE TABLE notes (text text NOT NULL);\n');
  server = await startTestDatabase({ service: 'catalog', migrations: pathToFileURL(`${directory.path}/`) });
}, 60_000);
afterAll(async () => {
  await server?.stop();
  directory.remove();
});

test('each database is a migrated copy of its own, for the role and for the administrator', async () => {
  const [one, other] = [await server.database(), await server.database()];
  await one.admin.query("INSERT INTO notes VALUES ('one')");
  expect((await one.admin.query('SELECT text FROM notes')).rows).toEqual([{ text: 'one' }]);
  expect((await other.admin.query('SELECT text FROM notes')).rows).toEqual([]);
  expect((await one.pool.query('SELECT current_user AS name')).rows).toEqual([{ name: 'gateway_catalog' }]);
  expect(new URL(one.url).username).toBe('gateway_catalog');
  await expect(one.pool.query('CREATE TABLE gateway_catalog_own (a int)')).rejects.toThrow('permission denied');
});
