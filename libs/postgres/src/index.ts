export { NotPrimary, primaryUrl } from './primary/choose-primary.js';
export { createDatabaseFromTemplate, databaseUrl, dropDatabase, withServer } from './databases.js';
export { DELIVERY_WAIT_MS as IN_FORCE_MS } from './outbox/delivery-waits.js';
export { dumpSchema } from './dump-schema.js';
export {
  classifyFault as faultOf,
  isConnectionFault,
  isDataFault,
  isValueFault,
  readSqlState as sqlStateOf,
} from './faults.js';
export { type Log } from './log.js';
export { migrate, MIGRATION_WAIT_MS_MAX, type MigrateOptions, type MigrationWaits } from './migrate.js';
export { MigrationHistoryError } from './migration-files.js';
export { startOutbox, type Outbox, type OutboxOptions } from './outbox/outbox.js';
export { outboxAges } from './outbox/outbox.js';
export { type OutboxRow } from './outbox/outbox-rows.js';
export { enqueue, OUTBOX_TABLE, outboxTableSql, type OutboxMessage } from './outbox/outbox-table.js';
export { createPool, poolConnections, type Pool, type PoolOptions } from './pool.js';
export { type RoleSpec } from './roles.js';
export { isBehind, readServerState, type ServerState } from './primary/server-state.js';
export {
  clearTimelines as forgetTimelines,
  syncTimelines as keepTimelines,
  type SyncedTimelines as KeptTimelines,
  type TimelineStore,
} from './primary/keep-timelines.js';
export { Timelines } from './primary/timelines.js';
export { inTransaction, type TransactionOptions } from './transaction.js';
export { onPool, type QueryOptions, type Tx } from './tx.js';
