import type { Bus } from '@gateway/bus';
import { admissionApply, alertRaised, objectId, raisedAlert, balanceSnapshot } from '@gateway/contracts/messages';
import { type Outbox, OUTBOX_TABLE, outboxAges, type Pool, startOutbox } from '@gateway/postgres';
import { polledGauge, type Clock, type Logger, type OpeningKeys, type RunningService } from '@gateway/service-kit';
import { z } from 'zod';
import { ALERT_OUTBOX } from './alerts/outbox-store.js';
import { readStateWith } from './ledger/store.js';
import { tellChange, type TellDeps } from './ledger/tell-change.js';
import { deliverEvent } from './webhooks/deliver-event.js';
import { createDeliveryStore } from './webhooks/delivery-store.js';
import type { LedgerGuard } from './usage/ledger-guard.js';
import { createSecretSeal, resealSecrets } from './webhooks/secrets.js';
import { createWebhookSender } from './webhooks/sender.js';
import { createWebhookStore, WEBHOOK_OUTBOX } from './webhooks/store.js';

/** A command that is not in force yet is sent again at least this often. */
const OUTBOX_RETRY_MAX_MS = 2_000;
/** What a killed replica had taken of the outbox is delivered by another one after this time. */
const OUTBOX_LEASE_MS = 5_000;
const OUTBOX_DELIVER_MS = 2_000;
/** How often the outboxes are polled for the metrics. */
const OUTBOX_AGE_MS = 5_000;
/**
 * Nobody waits for an alert: what this process writes goes at once, and what a killed one left is
 * found so late at most.
 */
const ALERT_POLL_MS = 2_000;
/** Accounts may be away for long; nobody waits for a mail. */
const ALERT_RETRY_MAX_MS = 30_000;
const ALERT_DELIVER_MS = 5_000;
const ALERT_LEASE_MS = 15_000;
/** Attempts at webhooks: the delay doubles up to an hour. */
const WEBHOOK_RETRY = { baseMs: 2_000, maxMs: 3_600_000 };
/**
 * Receivers of customers that one replica waits for at once; each may be silent until its time-out.
 */
const WEBHOOK_KEYS_MAX = 64;
/** Longer than an attempt's time-out and its notes in the database. */
const WEBHOOK_DELIVER_MS = 15_000;
const WEBHOOK_LEASE_MS = 35_000;

/** Body of a row of the outbox to admission. */
const outboxSnapshot = z.object({ change: objectId, standing: balanceSnapshot });

/** Sends admission the changes that must be in force before their commands are answered. */
export function startAdmissionOutbox(
  pool: Pool,
  bus: Bus,
  log: Logger,
  guard: Pick<LedgerGuard, 'isKnown' | 'isLedger'>,
): Outbox {
  const telling: TellDeps = {
    stateWith: ({ change, standing }) => readStateWith(pool, standing.account, change),
    isLedger: guard.isLedger,
    apply: (body) => bus.request(admissionApply, body),
  };
  return startOutbox({
    pool,
    log,
    retryMaxMs: OUTBOX_RETRY_MAX_MS,
    leaseMs: OUTBOX_LEASE_MS,
    deliverMs: OUTBOX_DELIVER_MS,
    // Rows would be taken from a replica that has compared the ledger already.
    mayClaim: guard.isKnown,
    deliver: ({ body }) => tellChange(telling, outboxSnapshot.parse(body)),
  });
}

export interface AlertOutboxOptions {
  readonly pool: Pool;
  readonly bus: Bus;
  readonly log: Logger;
  readonly clock: Clock;
  /** Open the secrets of webhooks. */
  readonly webhookKeys: OpeningKeys;
  /** Webhooks on private and loopback addresses are allowed. */
  readonly privateAllowed: boolean;
  /** How attempts at webhooks are spaced; the rule's times when absent. */
  readonly webhookRetry?: { readonly baseMs: number; readonly maxMs: number };
}

/**
 * Sends alerts to accounts, which mails them, and to webhooks. Each has an outbox of its own:
 * neither waits for the other, nor admission for them. Accounts may be told an alert twice; the
 * second mails nothing.
 */
export function startAlertOutboxes(options: AlertOutboxOptions): RunningService & { readonly nudge: () => void } {
  const { pool, bus, log, clock, privateAllowed, webhookRetry = WEBHOOK_RETRY } = options;
  const seal = createSecretSeal(options.webhookKeys);
  const alerts = startOutbox({
    pool,
    log,
    table: ALERT_OUTBOX,
    pollMs: ALERT_POLL_MS,
    retryMaxMs: ALERT_RETRY_MAX_MS,
    leaseMs: ALERT_LEASE_MS,
    deliverMs: ALERT_DELIVER_MS,
    deliver: async ({ body }) => void (await bus.request(alertRaised, raisedAlert.parse(body))),
  });
  const delivery = {
    store: createDeliveryStore(pool),
    sender: createWebhookSender({ privateAllowed }),
    now: () => clock.nowMs(),
    seal,
  };
  const webhooks = startOutbox({
    pool,
    log,
    table: WEBHOOK_OUTBOX,
    pollMs: ALERT_POLL_MS,
    keysMax: WEBHOOK_KEYS_MAX,
    retryBaseMs: webhookRetry.baseMs,
    retryMaxMs: webhookRetry.maxMs,
    leaseMs: WEBHOOK_LEASE_MS,
    deliverMs: WEBHOOK_DELIVER_MS,
    deliver: (row) => deliverEvent(delivery, row),
  });
  const resealing = resealSecrets(createWebhookStore(pool), seal).then(
    ({ resealed, unreadable }) => {
      if (unreadable > 0) log.error({ unreadable }, 'secrets of webhooks are sealed under a key that is not at hand');
      if (resealed > 0) log.info({ resealed }, 'secrets of webhooks were sealed under the current key');
    },
    (err: unknown) => log.error({ err }, 'secrets of webhooks were not looked after'),
  );
  return {
    nudge() {
      alerts.nudge();
      webhooks.nudge();
    },
    async stop() {
      await Promise.all([alerts.stop(), webhooks.stop(), resealing]);
    },
  };
}

/** Declares the metric of the outboxes' ages. */
export function watchOutboxAges(pool: Pool): { stop(): Promise<void> } {
  return polledGauge(
    'gateway_billing_outbox_age_seconds',
    'How long the oldest message of an outbox has waited',
    () => outboxAges(pool, [OUTBOX_TABLE, ALERT_OUTBOX, WEBHOOK_OUTBOX]),
    { label: 'outbox', everyMs: OUTBOX_AGE_MS },
  );
}
