// `npm run restore -- --from DIR [--accept-loss]`: replaces the database's content by a backup and
// declares it to be the ledger. Records the run in the restored ledger. Exit 0: restored; 2: an
// error, printed on standard error; 78: a wrong configuration.
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { primaryUrl } from '@gateway/postgres';
import { COMMON_FIELDS, createLogger, readConfig, runAsCommand } from '@gateway/service-kit';
import { restore } from './backup/restore.js';
import { restoreOptions } from './backup/directory-from.js';
import { recordRun } from './jobs/record-run.js';
import { runProgram } from './jobs/run-program.js';
import { MIGRATE_FIELDS, rolesOf } from './migrate-config.js';

const PASSWORD_BYTES = 32;
/** The command of billing gives the ledger a new ledger epoch, because billing owns it. */
const RESTORED = fileURLToPath(new URL('../../../services/billing/dist/commands/restore.js', import.meta.url));

await runAsCommand(async () => {
  const { directory, acceptLoss } = restoreOptions();
  const config = readConfig({ ...MIGRATE_FIELDS, GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL }, process.env);
  const log = createLogger({ service: 'restore', replica: String(process.pid), level: config.GATEWAY_LOG_LEVEL });
  const roles = rolesOf(config, randomBytes(PASSWORD_BYTES).toString('hex'));
  const migrationUrl = await primaryUrl(config.GATEWAY_MIGRATION_URL.reveal());
  const { madeAt } = await restore({ migrationUrl, ...roles, log }, directory);
  console.log(`restored the backup of ${madeAt}: all totals match`);
  const { code } = await runProgram(RESTORED, acceptLoss ? ['--accept-loss'] : [], {
    // A variable and its file are not accepted together.
    GATEWAY_POSTGRES_URL_FILE: '',
    GATEWAY_NATS_URL_FILE: '',
    GATEWAY_POSTGRES_URL: config.GATEWAY_BILLING_POSTGRES_URL.reveal(),
    GATEWAY_NATS_URL: config.GATEWAY_NATS_URL.reveal(),
  });
  const outcome = code === 0 ? 'succeeded' : 'failed';
  await recordRun(migrationUrl, { job: 'restore', outcome, figures: `backup of ${madeAt}` });
  return code;
});
