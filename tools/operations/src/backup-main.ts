// `npm run backup -- --to DIR`: backs up all schemas in one snapshot while the system runs. Exit 0:
// written; 2: an error, printed on standard error; 78: a wrong configuration.
import { primaryUrl } from '@gateway/postgres';
import { COMMON_FIELDS, readConfig, runAsCommand } from '@gateway/service-kit';
import { backUp } from './backup/back-up.js';
import { directoryFrom } from './backup/directory-from.js';

await runAsCommand(async () => {
  const { directory } = directoryFrom('to');
  const fields = { GATEWAY_MIGRATION_URL: COMMON_FIELDS.GATEWAY_MIGRATION_URL };
  const config = readConfig(fields, process.env);
  const migrationUrl = await primaryUrl(config.GATEWAY_MIGRATION_URL.reveal());
  const { figures } = await backUp(migrationUrl, directory);
  for (const [name, figure] of Object.entries(figures)) console.log(`${name}: ${figure}`);
  console.log(
    'store the pepper and the private keys elsewhere: without them API keys are not recognized and credentials cannot be opened',
  );
  return 0;
});
