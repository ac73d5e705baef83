// Runs all database operations of a deployment as an owner without superuser: migrations, a backup
// and a restore, each repeated.
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { databaseUrl } from '@gateway/postgres';
import { startServers } from '@gateway/servers';
import { silentLog, temporaryDirectory } from '@gateway/testkit';
import pg from 'pg';
import { backUp } from './backup/back-up.js';
import { connectDatabase } from './backup/connect.js';
import { recordRun } from './jobs/record-run.js';
import { restore } from './backup/restore.js';
import { LEDGER_SERVICES, migrateServices, type MigrateServicesOptions } from './migrate-services.js';

const role = (name: string) => ({ name: `of_owner_${name}`, password: `p-${name}` });

test.each(['binary', 'project'])(
  'an owner with CREATEROLE migrates, backs up and restores (PostgreSQL from "%s")',
  async (resolvers) => {
    const directory = temporaryDirectory(`owner-${resolvers}`);
    const server = await startServers(['postgres'], {
      stateDirectory: `${directory.path}/state`,
      durable: false,
      postgres: { superuserPassword: 'p' },
      env: { ...process.env, GATEWAY_SERVER_SOURCES: resolvers },
    }).catch((error: Error) => {
      process.stdout.write(`skipped: no PostgreSQL from "${resolvers}": ${error.message.split('\n')[0]}\n`);
      return null;
    });
    if (server === null) return directory.remove();
    const { postgres } = server;
    try {
      const admin = new pg.Client({ connectionString: postgres.url });
      await admin.connect();
      await admin.query("CREATE ROLE gateway_owner LOGIN CREATEROLE PASSWORD 'o'");
      await admin.query('CREATE DATABASE gateway OWNER gateway_owner');
      await admin.end();
      const url = new URL(databaseUrl(postgres.url, 'gateway'));
      [url.username, url.password] = ['gateway_owner', 'o'];
      const options: MigrateServicesOptions = {
        migrationUrl: url.href,
        roles: { billing: role('billing'), accounts: role('accounts'), catalog: role('catalog') },
        finance: role('finance'),
        log: silentLog,
      };
      const first = await migrateServices(options);
      for (const service of LEDGER_SERVICES) expect(first[service].length).toBeGreaterThan(0);
      expect(await migrateServices(options)).toEqual({ billing: [], accounts: [], catalog: [] });

      const tools = await connectDatabase(url.href).catch((error: Error) => error);
      if (tools instanceof Error) {
        process.stdout.write(`backup and restore skipped: ${tools.message}\n`);
        return;
      }
      await tools.client.end();
      const backup = `${directory.path}/backup`;
      mkdirSync(backup, { mode: 0o755 });
      const umask = process.umask(0o000);
      const { figures } = await backUp(url.href, backup).finally(() => process.umask(umask));
      const modes = readdirSync(backup).map((name) => [name, statSync(`${backup}/${name}`).mode & 0o777]);
      expect(Object.fromEntries(modes)).toEqual({ 'backup.json': 0o600, 'gateway.dump': 0o600 });
      for (let times = 0; times < 2; times += 1) {
        expect((await restore(options, backup)).figures).toEqual(figures);
      }
      await recordRun(url.href, { job: 'restore', outcome: 'succeeded', figures: 'a backup' });
      const owner = new pg.Client({ connectionString: url.href });
      await owner.connect();
      const { rows } = await owner.query("SELECT outcome, figures FROM billing.job_runs WHERE job = 'restore'");
      await owner.end();
      expect(rows).toEqual([{ outcome: 'succeeded', figures: 'a backup' }]);
      // Uses another administrator, because restored objects belong to the restoring user.
      const elsewhere = new pg.Client({ connectionString: postgres.url });
      await elsewhere.connect();
      await elsewhere.query('CREATE DATABASE elsewhere');
      await elsewhere.query('ALTER ROLE gateway_owner RENAME TO gateway_owner_before');
      await elsewhere.end();
      const migrationUrl = databaseUrl(postgres.url, 'elsewhere');
      expect((await restore({ ...options, migrationUrl }, backup)).figures).toEqual(figures);
    } finally {
      await postgres.stop();
      directory.remove();
    }
  },
  120_000,
);
