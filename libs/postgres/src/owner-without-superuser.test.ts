// Migrations by a database owner without superuser, as on managed servers, on each available
// PostgreSQL version: from 16 on CREATEROLE has fewer privileges than before.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startServers } from '@gateway/servers';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrationDirectory, recordingLog, startPostgres, testPool, type TestServer } from '../test/database.js';
import { databaseUrl, migrate, onPool } from './index.js';

const ROLE = { name: 'gateway_shop', password: "it's a password" };
const READER = { name: 'gateway_shop_reader', password: 'r' };
const START = `CREATE TABLE item (id bigint PRIMARY KEY);
GRANT SELECT, INSERT ON item TO \${role};
GRANT USAGE ON SCHEMA \${schema} TO \${reader};
GRANT SELECT ON item TO \${reader};
`;

async function isThere(resolvers: string): Promise<boolean> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-owner-'));
  try {
    const env = { ...process.env, GATEWAY_SERVER_SOURCES: resolvers };
    const options = { stateDirectory, durable: false, postgres: { superuserPassword: 'p' }, env };
    const { postgres } = await startServers(['postgres'], options);
    await postgres.stop();
    return true;
  } catch (error) {
    process.stdout.write(`skipped: no PostgreSQL from "${resolvers}": ${(error as Error).message.split('\n')[0]}\n`);
    return false;
  } finally {
    rmSync(stateDirectory, { recursive: true, force: true });
  }
}

for (const resolvers of ['binary', 'project']) {
  const on = (await isThere(resolvers)) ? describe : describe.skip;
  on(`PostgreSQL from "${resolvers}"`, () => {
    let server: TestServer;
    let databases = 0;
    const directory = (): string => migrationDirectory({ '0001_start.sql': START });

    beforeAll(async () => {
      server = await startPostgres(resolvers);
    });
    afterAll(() => server.stop());

    const as = (url: string, { name, password }: { name: string; password: string }): string => {
      const own = new URL(url);
      own.username = name;
      own.password = encodeURIComponent(password);
      return own.href;
    };
    const attempt = async (url: string, sql: string): Promise<unknown> => {
      const pool = testPool(url);
      try {
        return await onPool(pool).query(sql);
      } catch (error) {
        return (error as { code?: string }).code;
      } finally {
        await pool.end();
      }
    };
    const admin = (sql: string): Promise<unknown> => attempt(server.url, sql);

    /** Creates a database with its own owner and drops the roles of earlier tests. */
    async function owned(attributes: string): Promise<{ url: string; admin: string }> {
      databases += 1;
      const owner = { name: `owner_${databases}`, password: 'o' };
      expect(await admin(`CREATE ROLE ${owner.name} LOGIN ${attributes} PASSWORD 'o'`)).toEqual([]);
      const name = `shop_${databases}`;
      expect(await admin(`CREATE DATABASE ${name} OWNER ${owner.name}`)).toEqual([]);
      const adminUrl = databaseUrl(server.url, name);
      return { url: as(adminUrl, owner), admin: adminUrl };
    }
    async function dropped({ admin: url }: { admin: string }): Promise<void> {
      const name = new URL(url).pathname.slice(1);
      await admin(`DROP DATABASE ${name} WITH (FORCE)`);
      for (const role of [ROLE, READER]) await admin(`DROP ROLE ${role.name}`);
    }
    const run = (migrationUrl: string, files: string, more: Partial<Parameters<typeof migrate>[0]> = {}) =>
      migrate({
        migrationUrl,
        schema: 'shop',
        directory: files,
        role: ROLE,
        readers: { reader: READER },
        log: recordingLog(),
        ...more,
      });

    test('an owner with CREATEROLE migrates twice and changes a password', async () => {
      const database = await owned('CREATEROLE');
      const files = directory();
      expect((await run(database.url, files)).applied).toHaveLength(1);
      expect((await run(database.url, files)).applied).toEqual([]);
      const other = { ...ROLE, password: 'another' };
      expect((await run(database.url, files, { role: other })).applied).toEqual([]);
      expect(await attempt(as(database.url, other), 'SELECT count(*) FROM item')).toEqual([{ count: 0n }]);
      expect(await attempt(as(database.url, ROLE), 'SELECT 1')).toBe('28P01');
      await dropped(database);
    });

    test('correct roles that another user created stay unchanged', async () => {
      const database = await owned('CREATEROLE');
      const files = directory();
      for (const { name, password } of [ROLE, READER]) {
        await admin(`CREATE ROLE ${name} LOGIN PASSWORD '${password.replace("'", "''")}'`);
      }
      const name = new URL(database.admin).pathname.slice(1);
      await admin(`ALTER ROLE ${ROLE.name} IN DATABASE ${name} SET search_path = shop`);
      await admin(`ALTER ROLE ${READER.name} IN DATABASE ${name} SET default_transaction_read_only = on`);
      for (const applied of [1, 0]) expect((await run(database.url, files)).applied).toHaveLength(applied);
      await dropped(database);
    });

    test('without CREATEROLE missing roles are reported with their statement', async () => {
      const database = await owned('');
      const files = directory();
      const byOthers = { externalRoles: true };
      await expect(run(database.url, files)).rejects.toThrow(
        /cannot create or change the role gateway_shop: .*CREATEROLE/,
      );
      await expect(run(database.url, files, byOthers)).rejects.toThrow(/CREATE ROLE gateway_shop LOGIN/);
      for (const { name } of [ROLE, READER]) await admin(`CREATE ROLE ${name} LOGIN CREATEDB PASSWORD 'given'`);
      await expect(run(database.url, files, byOthers)).rejects.toThrow(/ALTER ROLE gateway_shop NOCREATEDB/);
      for (const { name } of [ROLE, READER]) await admin(`ALTER ROLE ${name} NOCREATEDB`);
      const name = new URL(database.admin).pathname.slice(1);
      for (let statements = 0; statements < 2; statements += 1) {
        const error = await run(database.url, files, byOthers).then(
          () => null,
          (cause: Error) => cause,
        );
        const [, statement = ''] = /run as a user who can: (.*)$/.exec(error?.message ?? '') ?? [];
        expect(statement).toContain(`IN DATABASE "${name}" SET`);
        expect(await admin(statement)).toEqual([]);
      }
      for (const applied of [1, 0]) expect((await run(database.url, files, byOthers)).applied).toHaveLength(applied);
      expect(await attempt(as(database.url, { ...ROLE, password: 'given' }), 'SELECT count(*) FROM item')).toEqual([
        { count: 0n },
      ]);
      await dropped(database);
    });

    test('other roles cannot connect to an own database, but to a shared one', async () => {
      const database = await owned('CREATEROLE');
      const stranger = { name: 'stranger', password: 's' };
      await admin("CREATE ROLE stranger LOGIN PASSWORD 's'");
      expect(await attempt(as(database.url, stranger), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await run(database.url, directory());
      expect(await attempt(as(database.url, stranger), 'SELECT 1 AS one')).toBe('42501');
      expect(await attempt(as(database.url, ROLE), 'SELECT count(*) FROM item')).toEqual([{ count: 0n }]);
      expect(await attempt(as(database.url, ROLE), 'CREATE TEMPORARY TABLE t (id int)')).toBe('42501');
      await dropped(database);
      await run(server.url, directory());
      expect(await attempt(as(server.url, stranger), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await admin('DROP SCHEMA shop CASCADE');
    });

    test('attributes beyond LOGIN are removed from a role if permitted', async () => {
      const database = await owned('CREATEROLE');
      await admin(`CREATE ROLE ${ROLE.name} LOGIN CREATEDB PASSWORD 'x'`);
      await run(database.admin, directory());
      expect(await admin(`SELECT rolcreatedb FROM pg_roles WHERE rolname = '${ROLE.name}'`)).toEqual([
        { rolcreatedb: false },
      ]);
      await dropped(database);
    });
  });
}
