// `operate reseal`: seals the credentials of sources and providers again with the command of
// catalog, and records the run at billing. Needs both private keys during a rotation. The exit code
// is that of the command: 1 if no key opens a credential.
import { fileURLToPath } from 'node:url';
import { primaryUrl } from '@gateway/postgres';
import { readConfig, runAsCommand } from '@gateway/service-kit';
import { recordRun } from './jobs/record-run.js';
import { runProgram } from './jobs/run-program.js';
import { MIGRATE_FIELDS } from './migrate-config.js';

const RESEAL = fileURLToPath(new URL('../../../services/catalog/dist/commands/reseal.js', import.meta.url));

await runAsCommand(async () => {
  const { GATEWAY_CATALOG_POSTGRES_URL, GATEWAY_BILLING_POSTGRES_URL } = MIGRATE_FIELDS;
  const config = readConfig({ GATEWAY_CATALOG_POSTGRES_URL, GATEWAY_BILLING_POSTGRES_URL }, process.env);
  const { code, output } = await runProgram(RESEAL, [], {
    // A variable and its file are not accepted together.
    GATEWAY_POSTGRES_URL_FILE: '',
    GATEWAY_POSTGRES_URL: config.GATEWAY_CATALOG_POSTGRES_URL.reveal(),
  });
  // Without output the command has not begun.
  const [figures = ''] = output.split('\n');
  if (figures !== '') {
    const url = await primaryUrl(config.GATEWAY_BILLING_POSTGRES_URL.reveal());
    await recordRun(url, { job: 'reseal', outcome: code === 0 ? 'succeeded' : 'failed', figures });
  }
  return code;
});
