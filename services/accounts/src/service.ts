import { connectBus, type Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { admissionApply, billingApplyCaps } from '@gateway/contracts/messages';
import {
  createPool,
  IN_FORCE_MS,
  outboxAges,
  OUTBOX_TABLE,
  poolConnections,
  startOutbox,
  type Pool,
  type OutboxRow,
} from '@gateway/postgres';
import { polledGauge, gauge, type RunningService, type ServiceContext } from '@gateway/service-kit';
import { makeAccountsStore } from './store.js';
import { makeBillingClosing, makeBillingFunding, deliverCaps } from './billing.js';
import { makeIdempotencyStore } from './idempotency/store.js';
import { makeInForce, deliverChange } from './in-force.js';
import { makeOperatorSessions } from './operators/store.js';
import { makeSignInLeftovers, makeSignUpLeftovers } from './cleanup/store.js';
import { makeMailLog, makeMailSender } from './mail/sender.js';
import { BILLING_OUTBOX, MAIL_OUTBOX, NOTICE_TOPIC, SIGN_UP_TOPIC } from './mail/store.js';
import type { ACCOUNTS_FIELDS } from './config.js';
import { openDoors } from './handlers.js';
import { startForgetting } from './cleanup/delete-expired.js';
import type { MakeId } from './ports.js';
import { takeSignUp, type SignUpPorts } from './sign-in/sign-up.js';
import { sendMail, type SendMailPorts } from './mail/send-mail.js';
import { sendNotice, type SendNoticePorts } from './mail/send-notice.js';

const POOL_CONNECTIONS_MAX = 10;
/** Longer than a change takes that waits for billing or until it is in force. */
const DRAIN_MS = 7_000;
/** Admission has a change at most this long after it is back, and after the death of a replica that had taken it. */
const OUTBOX_RETRY_MAX_MS = 1_000;
const OUTBOX_LEASE_MS = 5_000;
/** Longer than admission's own time-out. */
const OUTBOX_DELIVER_MS = 2_000;
/** Billing may be away for long; nobody waits for it to know a cap. */
const CAPS_RETRY_MAX_MS = 10_000;
const CAPS_DELIVER_MS = 5_000;
const CAPS_LEASE_MS = 15_000;
/** A mail server may be away for long too. */
const MAIL_RETRY_BASE_MS = 1_000;
const MAIL_RETRY_MAX_MS = 900_000;
/** Longer than the time-outs of one mail. */
const MAIL_DELIVER_MS = 30_000;
const MAIL_LEASE_MS = 65_000;
/** How often the outboxes are looked at for the metrics. */
const OUTBOX_AGE_MS = 5_000;
/** Connections to the mail server at a time, of one replica. */
const MAIL_KEYS_MAX = 4;

export interface AccountsOptions {
  /** How long a change waits until it is in force; IN_FORCE_MS when absent. */
  readonly inForceMs?: number;
}

/** The whole service: adapters, then the doors. */
export async function startAccounts(
  context: ServiceContext<typeof ACCOUNTS_FIELDS>,
  { inForceMs = IN_FORCE_MS }: AccountsOptions = {},
): Promise<RunningService> {
  const { config, clock, log, replica } = context;
  const nowMs = () => clock.nowMs();
  const bus = await connectBus({ url: config.GATEWAY_NATS_URL.reveal(), service: 'accounts', replica, log });
  const pool = createPool(config.GATEWAY_POSTGRES_URL.reveal(), {
    applicationName: `accounts ${replica}`,
    max: POOL_CONNECTIONS_MAX,
    log,
  });
  const outbox = startOutbox({
    pool,
    log,
    retryMaxMs: OUTBOX_RETRY_MAX_MS,
    leaseMs: OUTBOX_LEASE_MS,
    deliverMs: OUTBOX_DELIVER_MS,
    deliver: (row) => deliverChange((records) => bus.request(admissionApply, records), row),
  });
  const kept = makeIdempotencyStore(pool);
  const funding = makeBillingFunding(bus);
  const leftovers = makeSignInLeftovers(pool);
  const signUps = makeSignUpLeftovers(pool);
  const forgetting = startForgetting({ kept, leftovers, signUps, funding, nowMs, log });
  const makeId: MakeId = (prefix) => `${prefix}_${makeUuidV7(nowMs()).replaceAll('-', '')}`;
  const telling = startTelling(context, bus, pool, makeId);
  const ages = declareGauges(pool);
  openDoors(bus, {
    store: makeAccountsStore(pool, telling.mailNow),
    kept,
    operatorSessions: makeOperatorSessions(pool),
    funding,
    closing: makeBillingClosing(bus),
    inForce: makeInForce(outbox, inForceMs),
    makeId,
    makeCommand: () => makeUuidV7(nowMs()),
    nowMs,
    teamsEnabled: config.GATEWAY_TEAMS_ENABLED,
  });
  await bus.listening();
  return {
    async stop() {
      await bus.drain(DRAIN_MS);
      await Promise.all([outbox.stop(), forgetting.stop(), telling.stop(), ages.stop()]);
      await pool.end();
    },
  };
}

/** What of the database is looked at for the metrics. */
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

/** Mails go out, and caps go to billing, each by an outbox of its own. A mail goes as soon as it is committed. */
function startTelling(
  { config, clock, log }: ServiceContext<typeof ACCOUNTS_FIELDS>,
  bus: Bus,
  pool: Pool,
  makeId: MakeId,
): RunningService & { readonly mailNow: () => void } {
  const url = config.GATEWAY_SMTP_URL;
  const ports = {
    store: makeAccountsStore(pool, () => mails.nudge()),
    makeId,
    sender: url === null ? makeMailLog(log) : makeMailSender(url, config.GATEWAY_MAIL_FROM),
    dashboardUrl: config.GATEWAY_DASHBOARD_URL,
    nowMs: () => clock.nowMs(),
    log,
  };
  const mails = startOutbox({
    pool,
    log,
    table: MAIL_OUTBOX,
    keysMax: MAIL_KEYS_MAX,
    retryBaseMs: MAIL_RETRY_BASE_MS,
    retryMaxMs: MAIL_RETRY_MAX_MS,
    leaseMs: MAIL_LEASE_MS,
    deliverMs: MAIL_DELIVER_MS,
    deliver: (row) => deliverMail(ports, row),
  });
  const caps = startOutbox({
    pool,
    log,
    table: BILLING_OUTBOX,
    retryMaxMs: CAPS_RETRY_MAX_MS,
    leaseMs: CAPS_LEASE_MS,
    deliverMs: CAPS_DELIVER_MS,
    deliver: (row) => deliverCaps((body) => bus.request(billingApplyCaps, body), row),
  });
  return {
    mailNow: () => mails.nudge(),
    async stop() {
      await Promise.all([mails.stop(), caps.stop()]);
    },
  };
}

/** What the outbox of mails holds: alerts, mails about signing in, and sign-ups, which become one of those. */
export function deliverMail(ports: SendMailPorts & SendNoticePorts & SignUpPorts, row: OutboxRow): Promise<void> {
  switch (row.topic) {
    case SIGN_UP_TOPIC:
      return takeSignUp(ports, row);
    case NOTICE_TOPIC:
      return sendNotice(ports, row);
    default:
      return sendMail(ports, row);
  }
}
