/** Views of the operator API that the pages show unchanged. Their schemas are in `operator/`. */
export type {
  AccountView,
  AlertView,
  AliasView,
  AuditEntryView,
  AuditKind,
  KeyView,
  LedgerTransactionView,
  MemberView,
  ModelView,
  OperatorRole,
  PlanView,
  SlotView,
  SourceHealthView,
  SourceView,
  SubscriptionView,
  UsageRecordView,
  WebhookDeliveryView,
  WebhookView,
} from '../operator/index.js';
export * from './errors.js';
export * from './keys.js';
export * from './models.js';
export * from './overview.js';
export * from './people.js';
export * from './models.js';
export * from './usage.js';
export * from './people.js';
export * from './usage.js';
