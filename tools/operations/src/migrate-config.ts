import { COMMON_FIELDS, field, urlsOf, type ConfigOf } from '@gateway/service-kit';
import type { LedgerService, MigrateServicesOptions } from './migrate-services.js';

const POSTGRES = ['postgres', 'postgresql'] as const;
const roleUrl = (service: LedgerService) =>
  field.secretUrl({
    doc: `GATEWAY_POSTGRES_URL of ${service}: its user becomes that service's role, with its password`,
    schemes: POSTGRES,
  });

/** Variables of the migration command. */
export const MIGRATE_FIELDS = {
  GATEWAY_LOG_LEVEL: COMMON_FIELDS.GATEWAY_LOG_LEVEL,
  GATEWAY_MIGRATION_URL: COMMON_FIELDS.GATEWAY_MIGRATION_URL,
  GATEWAY_BILLING_POSTGRES_URL: roleUrl('billing'),
  GATEWAY_ACCOUNTS_POSTGRES_URL: roleUrl('accounts'),
  GATEWAY_CATALOG_POSTGRES_URL: roleUrl('catalog'),
  GATEWAY_FINANCE_PASSWORD: field.secret({
    doc: 'password of the role GATEWAY_FINANCE_ROLE, which reads the views of the schema finance; if not set, the role cannot sign in',
    optional: true,
  }),
  GATEWAY_FINANCE_ROLE: field.string({
    doc: 'role that reads the views of the schema finance; if a server has several databases, each needs a different role',
    pattern: /^[a-z_][a-z0-9_]{0,62}$/,
    patternText: '1 to 63 small letters, digits and _, not beginning with a digit',
    default: 'gateway_finance',
  }),
  GATEWAY_EXTERNAL_ROLES: field.boolean({
    doc: 'another user creates the roles of the services and GATEWAY_FINANCE_ROLE and sets their passwords; the migration only checks them',
    default: false,
  }),
};

export type MigrateConfig = ConfigOf<typeof MIGRATE_FIELDS>;

/**
 * Returns the roles that the services' URLs name. `unguessable` is the password of the finance role
 * if none is set. Throws if a URL has no user or no password; the error names the variable, never
 * the URL.
 */
export function rolesOf(
  config: MigrateConfig,
  unguessable: string,
): Pick<MigrateServicesOptions, 'roles' | 'finance' | 'externalRoles'> {
  return {
    roles: {
      billing: roleOf('GATEWAY_BILLING_POSTGRES_URL', config),
      accounts: roleOf('GATEWAY_ACCOUNTS_POSTGRES_URL', config),
      catalog: roleOf('GATEWAY_CATALOG_POSTGRES_URL', config),
    },
    finance: {
      name: config.GATEWAY_FINANCE_ROLE,
      password: config.GATEWAY_FINANCE_PASSWORD?.reveal() ?? unguessable,
    },
    externalRoles: config.GATEWAY_EXTERNAL_ROLES,
  };
}

type RoleVariable = 'GATEWAY_BILLING_POSTGRES_URL' | 'GATEWAY_ACCOUNTS_POSTGRES_URL' | 'GATEWAY_CATALOG_POSTGRES_URL';

function roleOf(variable: RoleVariable, config: MigrateConfig): { name: string; password: string } {
  // Several servers share one user.
  const { username, password } = new URL(urlsOf(config[variable].reveal())[0] ?? '');
  if (username === '' || password === '') throw new Error(`${variable} must name a user and a password`);
  return { name: decodeURIComponent(username), password: decodeURIComponent(password) };
}
