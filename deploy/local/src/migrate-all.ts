import { migrate, type MigrateOptions } from '@gateway/postgres';
import { LEDGER_SERVICES } from './processes.js';
import type { Secrets } from './secrets.js';

/** Brings every schema up to date, each with its service's role. Services never migrate. */
export async function migrateAll(migrationUrl: string, secrets: Secrets, log: (line: string) => void): Promise<void> {
  for (const service of LEDGER_SERVICES) {
    const { applied } = await migrate({
      migrationUrl,
      schema: service,
      directory: new URL(`../../../services/${service}/migrations`, import.meta.url),
      role: { name: roleOf(service), password: secrets.rolePasswords[service] },
      ...readersOf(service, secrets),
      log: {
        info: () => undefined,
        warn: (_facts, text) => log(`  ${service}: ${text}`),
        error: (_facts, text) => log(`  ${service}: ${text}`),
      },
    });
    if (applied.length > 0) log(`  ${service}: ${applied.length} migration${applied.length === 1 ? '' : 's'} applied`);
  }
}

/** The same database as the service's own role. */
export function postgresUrlOf(
  migrationUrl: string,
  service: (typeof LEDGER_SERVICES)[number],
  secrets: Secrets,
): string {
  const url = new URL(migrationUrl);
  url.username = roleOf(service);
  url.password = secrets.rolePasswords[service];
  return url.href;
}

/** Finance reads views of billing, with a role of its own that nothing here uses. */
function readersOf(service: string, { financePassword }: Secrets): Pick<MigrateOptions, 'readers'> {
  return service === 'billing' ? { readers: { finance: { name: roleOf('finance'), password: financePassword } } } : {};
}

function roleOf(service: string): string {
  return `gateway_${service}`;
}
