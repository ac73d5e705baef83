import { migrate, type MigrateOptions } from '@gateway/postgres';

/** Services with tables: schema and role are named after them. */
export const LEDGER_SERVICES = ['billing', 'accounts', 'catalog'] as const;
export type LedgerService = (typeof LEDGER_SERVICES)[number];
type Role = MigrateOptions['role'];

export interface MigrateServicesOptions {
  /**
   * A role that may create schemas in the database, and roles (CREATEROLE; no superuser) unless
   * `rolesByOthers`.
   */
  readonly migrationUrl: string;
  /** Each service's own role, made when missing, its password set. */
  readonly roles: Readonly<Record<LedgerService, Role>>;
  /** Reads the views of the schema `finance` and nothing else. */
  readonly finance: Role;
  /** True: all roles are there, with their passwords, and only checked. */
  readonly rolesByOthers?: boolean;
  readonly log: MigrateOptions['log'];
}

/**
 * Brings every schema up to date and gives each service's role its rights. A schema's new files
 * apply all or not at all; what one schema has got stays when a later one fails, and the next run
 * goes on there. Gives the applied files by service.
 */
export async function migrateServices({
  migrationUrl,
  roles,
  finance,
  rolesByOthers = false,
  log,
}: MigrateServicesOptions): Promise<Record<LedgerService, readonly string[]>> {
  const applied: Record<LedgerService, readonly string[]> = { billing: [], accounts: [], catalog: [] };
  for (const service of LEDGER_SERVICES) {
    const result = await migrate({
      migrationUrl,
      schema: service,
      directory: new URL(`../../../services/${service}/migrations`, import.meta.url),
      role: roles[service],
      rolesByOthers,
      ...(service === 'billing' ? { readers: { finance } } : {}),
      log,
    });
    applied[service] = result.applied;
  }
  return applied;
}
