import type { Bus } from '@gateway/bus';
import { admissionApply, alertRaised, objectId, raisedAlert, balanceSnapshot } from '@gateway/contracts/messages';
import { type Outbox, OUTBOX_TABLE, outboxAges, type Pool, startOutbox } from '@gateway/postgres';
import { polledGauge, type Logger, type OpeningKeys, type RunningService, type TimerClock } from '@gateway/service-kit';
import { z } from 'zod';
import { ALERT_OUTBOX } from './alerts/outbox-store.js';
import { readStateWith } from './ledger/store.js';
import { publishChange, type PublishChangeDeps } from './ledger/tell-change.js';
import { deliverEvent } from './webhooks/deliver-event.js';
import { createDeliveryStore } from './webhooks/delivery-store.js';
import type { LedgerGuard } from './recovery/ledger-guard.js';
import { createSecretSeal, resealSecrets } from './webhooks/secrets.js';
import { createWebhookSender } from './webhooks/sender.js';
import { createWebhookStore, WEBHOOK_OUTBOX } from './webhooks/store.js';

/** Maximum retry delay for a command that is not in force yet. */
const OUTBOX_RETRY_MAX_MS = 2_000;
/** After this time another replica delivers the messages that a killed replica had claimed. */
const OUTBOX_LEASE_MS = 5_000;
const OUTBOX_DELIVER_MS = 2_000;
/** Interval for polling the outboxes' ages. */
const OUTBOX_AGE_MS = 5_000;
/**
 * Poll interval for alerts. A process sends its own alerts immediately; the poll finds the alerts
 * of a killed process.
 */
const ALERT_POLL_MS = 2_000;
/** Accounts may be unavailable for a long time, and alerts are not urgent. */
const ALERT_RETRY_MAX_MS = 30_000;
const ALERT_DELIVER_MS = 5_000;
const ALERT_LEASE_MS = 15_000;
/**
 * The delay between webhook attempts doubles up to an hour. `deliverMs` is longer than the timeout
 * of an attempt and its writes to the database.
 */
const WEBHOOK_TIMING = { retryBaseMs: 2_000, retryMaxMs: 3_600_000, leaseMs: 35_000, deliverMs: 15_000 };
export type WebhookTiming = Readonly<typeof WEBHOOK_TIMING>;
/** Maximum of webhook receivers that one replica waits for at the same time. */
const WEBHOOK_KEYS_MAX = 64;

/** Body of an outbox row for admission. */
const outboxSnapshot = z.object({ change: objectId, snapshot: balanceSnapshot });

/** Sends changes to admission. The commands respond after admission has applied them. */
export function startAdmissionOutbox(
  pool: Pool,
  bus: Bus,
  log: Logger,
  guard: Pick<LedgerGuard, 'isKnown' | 'isLedger'>,
): Outbox {
  const telling: PublishChangeDeps = {
    stateWith: ({ change, snapshot }) => readStateWith(pool, snapshot.account, change),
    isLedger: guard.isLedger,
    apply: (body) => bus.request(admissionApply, body),
  };
  return startOutbox({
    pool,
    log,
    retryMaxMs: OUTBOX_RETRY_MAX_MS,
    leaseMs: OUTBOX_LEASE_MS,
    deliverMs: OUTBOX_DELIVER_MS,
    // An unverified replica would take rows from a replica that has already verified the ledger.
    mayClaim: guard.isKnown,
    deliver: ({ body }) => publishChange(telling, outboxSnapshot.parse(body)),
  });
}

export interface AlertOutboxOptions {
  readonly pool: Pool;
  readonly bus: Bus;
  readonly log: Logger;
  readonly clock: TimerClock;
  /** Keys that open the webhook secrets. */
  readonly webhookKeys: OpeningKeys;
  /** Allows webhooks on private and loopback addresses. */
  readonly privateAllowed: boolean;
  /** Delays and lease of webhook attempts; {@link WEBHOOK_TIMING} if absent. */
  readonly webhookTiming?: WebhookTiming;
}

/**
 * Sends alerts to accounts, which emails them, and events to webhooks. The outboxes are separate,
 * so that neither one delays the other or the changes for admission. Accounts may receive an alert
 * twice and sends one email.
 */
export function startAlertOutboxes(options: AlertOutboxOptions): RunningService & { readonly nudge: () => void } {
  const { pool, bus, log, clock, privateAllowed, webhookTiming = WEBHOOK_TIMING } = options;
  const seal = createSecretSeal(options.webhookKeys);
  const alerts = startOutbox({
    pool,
    log,
    clock,
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
    clock,
    table: WEBHOOK_OUTBOX,
    pollMs: ALERT_POLL_MS,
    keysMax: WEBHOOK_KEYS_MAX,
    ...webhookTiming,
    deliver: (row) => deliverEvent(delivery, row),
  });
  const resealing = resealSecrets(createWebhookStore(pool), seal).then(
    ({ resealed, unreadable }) => {
      if (unreadable > 0) log.error({ unreadable }, 'webhook secrets are sealed under an unknown key');
      if (resealed > 0) log.info({ resealed }, 'webhook secrets were resealed under the current key');
    },
    (err: unknown) => log.error({ err }, 'webhook secrets could not be resealed'),
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

/** Exports the ages of the outboxes as a metric. */
export function watchOutboxAges(pool: Pool): { stop(): Promise<void> } {
  return polledGauge(
    'gateway_billing_outbox_age_seconds',
    'Age of the oldest message in the outbox',
    () => outboxAges(pool, [OUTBOX_TABLE, ALERT_OUTBOX, WEBHOOK_OUTBOX]),
    { label: 'outbox', everyMs: OUTBOX_AGE_MS },
  );
}
