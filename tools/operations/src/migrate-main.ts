// The migration command. Run it once before new code starts, while old code is running. Exit 0:
// every schema is up to date; 1: an error, logged; 78: a wrong configuration.
import { randomBytes } from 'node:crypto';
import { primaryUrl } from '@gateway/postgres';
import { ConfigurationError, createLogger, EXIT_CONFIGURATION, readConfig } from '@gateway/service-kit';
import { MIGRATE_FIELDS, rolesOf, type MigrateConfig } from './migrate-config.js';
import { migrateServices } from './migrate-services.js';

const PASSWORD_BYTES = 32;

const config = read();
const log = createLogger({ service: 'migrate', replica: String(process.pid), level: config.GATEWAY_LOG_LEVEL });
try {
  const roles = rolesOf(config, randomBytes(PASSWORD_BYTES).toString('hex'));
  const migrationUrl = await primaryUrl(config.GATEWAY_MIGRATION_URL.reveal());
  const applied = await migrateServices({ migrationUrl, ...roles, log });
  log.info({ applied }, 'every schema is up to date');
} catch (err) {
  log.error({ err }, 'the migration failed');
  process.exitCode = 1;
}

function read(): MigrateConfig {
  try {
    return readConfig(MIGRATE_FIELDS, process.env);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`migrate: ${error.message}\n`);
    process.exit(EXIT_CONFIGURATION);
  }
}
