import { LEDGER_SERVICES, migrateServices, MigrationHistoryError, type LedgerService } from '@gateway/setup';
import { changeUrl } from '@gateway/service-kit';
import type { Secrets } from './secrets.js';

/**
 * Brings every schema up to date, each with its service's role. Services never migrate.
 * @throws Error that suggests `npm run reset` if another version of this program created the
 * database
 */
export async function migrateAll(migrationUrl: string, secrets: Secrets, log: (line: string) => void): Promise<void> {
  const applied = await migrateServices({
    migrationUrl,
    roles: {
      billing: { name: roleOf('billing'), password: secrets.rolePasswords.billing },
      accounts: { name: roleOf('accounts'), password: secrets.rolePasswords.accounts },
      catalog: { name: roleOf('catalog'), password: secrets.rolePasswords.catalog },
    },
    finance: { name: roleOf('finance'), password: secrets.financePassword },
    log: {
      info: () => undefined,
      warn: (_fields, text) => log(`  ${text}`),
      error: (_fields, text) => log(`  ${text}`),
    },
  }).catch((error: unknown) => {
    if (!(error instanceof MigrationHistoryError)) throw error;
    throw new Error(
      `${error.message}. Another version created this state: start that version, or delete the state (npm run reset).`,
    );
  });
  for (const service of LEDGER_SERVICES) {
    const { length } = applied[service];
    if (length > 0) log(`  ${service}: ${length} migration${length === 1 ? '' : 's'} applied`);
  }
}

/** Returns the URL of the same database with the service's role. */
export function postgresUrlOf(migrationUrl: string, service: LedgerService, secrets: Secrets): string {
  return changeUrl(migrationUrl, (url) => {
    url.username = roleOf(service);
    url.password = secrets.rolePasswords[service];
  });
}

function roleOf(service: string): string {
  return `gateway_${service}`;
}
