import { connectService } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { admissionApply, DATABASE_BUCKET } from '@gateway/contracts/messages';
import {
  createPool,
  faultOf,
  IN_FORCE_MS,
  keepTimelines,
  outboxAges,
  OUTBOX_TABLE,
  poolConnections,
  startOutbox,
  type OutboxRow,
  type Pool,
} from '@gateway/postgres';
import { polledGauge, gauge, type RunningService, type ServiceContext } from '@gateway/service-kit';
import { serveAccounts } from './accounts/handlers.js';
import { serveAudit } from './audit/handlers.js';
import { createBillingClient } from './base/billing.js';
import { startCleanup } from './cleanup/delete-expired.js';
import { createCleanupStore } from './cleanup/store.js';
import type { ACCOUNTS_FIELDS } from './config.js';
import { serveIdempotency } from './idempotency/handlers.js';
import { createIdempotencyStore } from './idempotency/store.js';
import { createInForce, deliverChange } from './base/in-force.js';
import { serveKeys } from './keys/handlers.js';
import { serveAlerts } from './mail/queue-notice.js';
import { sendMail } from './mail/send-mail.js';
import { sendNotice } from './mail/send-notice.js';
import { createMailLog, createMailSender } from './mail/sender.js';
import { MAIL_OUTBOX, NOTICE_TOPIC, SIGN_UP_TOPIC } from './mail/store.js';
import type { MakeId } from './base/rules.js';
import { serveOperators } from './operators/handlers.js';
import { createOperatorSessions } from './operators/store.js';
import { servePeople } from './people/handlers.js';
import { BILLING_OUTBOX } from './base/store.js';
import { createHandlers } from './base/serve.js';
import { serveSignIn } from './sign-in/handlers.js';
import { completeSignUp } from './sign-in/sign-up.js';
import { createAccountsStore } from './store.js';

const POOL_CONNECTIONS_MAX = 10;
/** Longer than a change that waits for billing or for admission. */
const DRAIN_MS = 7_000;
/**
 * Maximum delay until admission has a change after it has started again, or after the death of the
 * replica that was sending it.
 */
const OUTBOX_RETRY_MAX_MS = 1_000;
const OUTBOX_LEASE_MS = 5_000;
/** Longer than admission's timeout. */
const OUTBOX_DELIVER_MS = 2_000;
/** Billing may be unavailable for long. No response waits for it. */
const BILLING_RETRY_MAX_MS = 10_000;
const BILLING_DELIVER_MS = 5_000;
const BILLING_LEASE_MS = 15_000;
/** Maximum delay of emails that a killed process left. Others are sent immediately. */
const MAIL_POLL_MS = 2_000;
/** The mail server may be unavailable for long. */
const MAIL_RETRY_BASE_MS = 1_000;
const MAIL_RETRY_MAX_MS = 900_000;
/** Longer than the timeouts of one email. */
const MAIL_DELIVER_MS = 30_000;
const MAIL_LEASE_MS = 65_000;
/** Interval at which the outboxes are polled for the metrics. */
const OUTBOX_AGE_MS = 5_000;
/** Maximum concurrent connections to the mail server per replica. */
const MAIL_KEYS_MAX = 4;

export interface AccountsOptions {
  /** Timeout of a change that waits for admission. Default: IN_FORCE_MS. */
  readonly inForceMs?: number;
}

/** Starts the service: the stores, the outboxes, then the handlers of all features. */
export async function startAccounts(
  context: ServiceContext<typeof ACCOUNTS_FIELDS>,
  { inForceMs = IN_FORCE_MS }: AccountsOptions = {},
): Promise<RunningService> {
  const { config, clock, log, replica } = context;
  const nowMs = () => clock.nowMs();
  const makeId: MakeId = (prefix) => `${prefix}_${makeUuidV7(nowMs()).replaceAll('-', '')}`;
  const bus = await connectService('accounts', context);
  const kept = await keepTimelines(bus.lookUpBucket(DATABASE_BUCKET), log, clock);
  const pool = createPool(config.GATEWAY_POSTGRES_URL.reveal(), {
    applicationName: `accounts ${replica}`,
    max: POOL_CONNECTIONS_MAX,
    timelines: kept.timelines,
    log,
    clock,
  });
  const billing = createBillingClient(bus);
  const changes = startOutbox({
    pool,
    log,
    clock,
    retryMaxMs: OUTBOX_RETRY_MAX_MS,
    leaseMs: OUTBOX_LEASE_MS,
    deliverMs: OUTBOX_DELIVER_MS,
    deliver: (row) => deliverChange((records) => bus.request(admissionApply, records), row),
  });
  const toBilling = startOutbox({
    pool,
    log,
    clock,
    table: BILLING_OUTBOX,
    retryMaxMs: BILLING_RETRY_MAX_MS,
    leaseMs: BILLING_LEASE_MS,
    deliverMs: BILLING_DELIVER_MS,
    deliver: (row) => billing.deliver(row),
  });
  const mails = startMails(context, pool, makeId);
  const store = createAccountsStore(pool, () => mails.nudge());
  const cleanup = startCleanup({ store: createCleanupStore(pool), billing, nowMs, log });
  const ages = declareGauges(pool);
  const handlers = createHandlers(bus, faultOf);
  const deps = {
    store,
    billing,
    inForce: createInForce((key, change, waitMs) => changes.awaitDelivered(key, change, waitMs), inForceMs),
    makeId,
    nowMs,
    teamsEnabled: config.GATEWAY_TEAMS_ENABLED,
  };
  serveAccounts(handlers, deps);
  servePeople(handlers, deps);
  serveKeys(bus, handlers, deps);
  serveSignIn(handlers, deps);
  serveOperators(handlers, { ...deps, operatorSessions: createOperatorSessions(pool) });
  serveIdempotency(handlers, {
    idempotency: createIdempotencyStore(pool),
    makeCommand: () => makeUuidV7(nowMs()),
    nowMs,
  });
  serveAlerts(handlers, store);
  serveAudit(handlers, store);
  await bus.listening();
  return {
    async stop() {
      await bus.drain(DRAIN_MS);
      await Promise.all([changes, toBilling, mails, cleanup, ages].map((running) => running.stop()));
      await Promise.all([kept.stop(), pool.end()]);
    },
  };
}

/** Starts the email outbox. An email is sent right after its commit. */
function startMails({ config, clock, log }: ServiceContext<typeof ACCOUNTS_FIELDS>, pool: Pool, makeId: MakeId) {
  const url = config.GATEWAY_SMTP_URL;
  const deps = {
    store: createAccountsStore(pool, () => outbox.nudge()),
    makeId,
    sender: url === null ? createMailLog(log) : createMailSender(url, config.GATEWAY_MAIL_FROM),
    dashboardUrl: config.GATEWAY_DASHBOARD_URL,
    nowMs: () => clock.nowMs(),
    log,
  };
  const deliver = (row: OutboxRow): Promise<void> => {
    switch (row.topic) {
      case SIGN_UP_TOPIC:
        return completeSignUp(deps, row);
      case NOTICE_TOPIC:
        return sendNotice(deps, row);
      default:
        return sendMail(deps, row);
    }
  };
  const outbox = startOutbox({
    pool,
    log,
    clock,
    table: MAIL_OUTBOX,
    pollMs: MAIL_POLL_MS,
    keysMax: MAIL_KEYS_MAX,
    retryBaseMs: MAIL_RETRY_BASE_MS,
    retryMaxMs: MAIL_RETRY_MAX_MS,
    leaseMs: MAIL_LEASE_MS,
    deliverMs: MAIL_DELIVER_MS,
    deliver,
  });
  return outbox;
}

/** Declares the gauges that poll the database. */
function declareGauges(pool: Pool): { stop(): Promise<void> } {
  gauge(
    'gateway_accounts_pool_connections',
    'Database connections, and queries that wait for one',
    () => poolConnections([pool]),
    { label: 'state' },
  );
  return polledGauge(
    'gateway_accounts_outbox_age_seconds',
    'How long the oldest message of an outbox has waited',
    () => outboxAges(pool, [OUTBOX_TABLE, MAIL_OUTBOX, BILLING_OUTBOX]),
    { label: 'outbox', everyMs: OUTBOX_AGE_MS },
  );
}
