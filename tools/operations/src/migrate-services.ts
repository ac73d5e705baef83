import { migrate, type MigrateOptions } from '@gateway/postgres';

/** Services with tables. Schema and role have their names. */
export const LEDGER_SERVICES = ['billing', 'accounts', 'catalog'] as const;
export type LedgerService = (typeof LEDGER_SERVICES)[number];
type Role = MigrateOptions['role'];

export interface MigrateServicesOptions {
  /**
   * A role that may create schemas in the database, and roles (CREATEROLE, not superuser) unless
   * `externalRoles` is set.
   */
  readonly migrationUrl: string;
  /** Each service's own role. It is created if it does not exist, and its password is set. */
  readonly roles: Readonly<Record<LedgerService, Role>>;
  /** The role that can only read the views of the schema `finance`. */
  readonly finance: Role;
  /** True: all roles exist with their passwords and are only checked. */
  readonly externalRoles?: boolean;
  readonly log: MigrateOptions['log'];
}

/**
 * Brings every schema up to date and gives each service's role its privileges. The new files of a
 * schema apply all or not at all. If a later schema fails, the earlier ones stay migrated and the
 * next run continues. Returns the applied files by service.
 */
export async function migrateServices({
  migrationUrl,
  roles,
  finance,
  externalRoles = false,
  log,
}: MigrateServicesOptions): Promise<Record<LedgerService, readonly string[]>> {
  const applied: Record<LedgerService, readonly string[]> = { billing: [], accounts: [], catalog: [] };
  for (const service of LEDGER_SERVICES) {
    const result = await migrate({
      migrationUrl,
      schema: service,
      directory: new URL(`../../../services/${service}/migrations`, import.meta.url),
      role: roles[service],
      externalRoles,
      ...(service === 'billing' ? { readers: { finance } } : {}),
      log,
    });
    applied[service] = result.applied;
  }
  return applied;
}
