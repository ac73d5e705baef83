import { COMMON_FIELDS, field, type ConfigOf } from '@gateway/service-kit';
import type { LedgerService, MigrateServicesOptions } from './migrate-services.js';

const POSTGRES = ['postgres', 'postgresql'] as const;
const roleUrl = (service: LedgerService) =>
  field.secretUrl({
    doc: `GATEWAY_POSTGRES_URL of ${service}: its user becomes that service's role, with its password`,
    schemes: POSTGRES,
  });

/** What the migration command reads of its environment. */
export const MIGRATE_FIELDS = {
  GATEWAY_LOG_LEVEL: COMMON_FIELDS.GATEWAY_LOG_LEVEL,
  GATEWAY_MIGRATION_URL: COMMON_FIELDS.GATEWAY_MIGRATION_URL,
  GATEWAY_BILLING_POSTGRES_URL: roleUrl('billing'),
  GATEWAY_ACCOUNTS_POSTGRES_URL: roleUrl('accounts'),
  GATEWAY_CATALOG_POSTGRES_URL: roleUrl('catalog'),
  GATEWAY_FINANCE_PASSWORD: field.secret({
    doc: 'password of the role gateway_finance, which reads the views of the schema finance; nobody can sign in with it when not set',
    optional: true,
  }),
};

export type MigrateConfig = ConfigOf<typeof MIGRATE_FIELDS>;

const FINANCE_ROLE = 'gateway_finance';

/**
 * The roles that the URLs of the services name. `unguessable` is the password of the finance role when none was given. Throws
 * when a URL has no user or no password, naming the variable and never the URL.
 */
export function rolesOf(config: MigrateConfig, unguessable: string): Pick<MigrateServicesOptions, 'roles' | 'finance'> {
  return {
    roles: {
      billing: roleOf('GATEWAY_BILLING_POSTGRES_URL', config),
      accounts: roleOf('GATEWAY_ACCOUNTS_POSTGRES_URL', config),
      catalog: roleOf('GATEWAY_CATALOG_POSTGRES_URL', config),
    },
    finance: { name: FINANCE_ROLE, password: config.GATEWAY_FINANCE_PASSWORD?.reveal() ?? unguessable },
  };
}

type RoleVariable = 'GATEWAY_BILLING_POSTGRES_URL' | 'GATEWAY_ACCOUNTS_POSTGRES_URL' | 'GATEWAY_CATALOG_POSTGRES_URL';

function roleOf(variable: RoleVariable, config: MigrateConfig): { name: string; password: string } {
  const { username, password } = new URL(config[variable].reveal());
  if (username === '' || password === '') throw new Error(`${variable} must name a user and a password`);
  return { name: decodeURIComponent(username), password: decodeURIComponent(password) };
}
