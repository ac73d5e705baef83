export { MigrationHistoryError } from '@gateway/postgres';
export {
  LEDGER_SERVICES,
  migrateServices,
  type LedgerService,
  type MigrateServicesOptions,
} from './migrate-services.js';
export { ADMISSION_USER, admissionUser, redisUsers } from './redis-users.js';
export { findPostgresTools, type PostgresTools } from './backup/find-postgres-tools.js';
