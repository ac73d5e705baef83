import type { Bus } from '@gateway/bus';
import { alertRaised } from '@gateway/contracts/messages';
import { type Pool, startOutbox } from '@gateway/postgres';
import type { RunningService } from '@gateway/service-kit';
import { ALERT_OUTBOX, WEBHOOK_OUTBOX } from './alerts/alerts-store.js';
import { deliverAlert } from './alerts/deliver-alert.js';
import type { BillingOptions } from './service.js';
import { deliverEvent } from './webhooks/deliver-event.js';
import { makeDeliveryStore } from './webhooks/delivery-store.js';
import { resealSecrets } from './webhooks/reseal-secrets.js';
import { makeSecretSeal } from './webhooks/secrets.js';
import { makeWebhookSender } from './webhooks/sender.js';
import { makeWebhookStore } from './webhooks/store.js';

/** Accounts may be away for long; nobody waits for a mail. */
const ALERT_RETRY_MAX_MS = 30_000;
const ALERT_DELIVER_MS = 5_000;
const ALERT_LEASE_MS = 15_000;
/** Attempts at webhooks: the delay doubles up to an hour. */
const WEBHOOK_RETRY = { baseMs: 2_000, maxMs: 3_600_000 };
/** Receivers of customers that one replica waits for at once; each may be silent until its time-out. */
const WEBHOOK_KEYS_MAX = 64;
/** Longer than an attempt's time-out and its notes in the database. */
const WEBHOOK_DELIVER_MS = 15_000;
const WEBHOOK_LEASE_MS = 35_000;

interface TellingParts {
  readonly options: BillingOptions;
  readonly pool: Pool;
  readonly bus: Bus;
}

/** Alerts go to accounts and to webhooks, each by an outbox of its own: neither waits for the other, nor admission for them. */
export function startTelling({ options, pool, bus }: TellingParts): RunningService & { readonly tellNow: () => void } {
  const { log, clock, privateAllowed, webhookRetry = WEBHOOK_RETRY } = options;
  const seal = makeSecretSeal(options.webhookKeys);
  const alerts = startOutbox({
    pool,
    log,
    table: ALERT_OUTBOX,
    retryMaxMs: ALERT_RETRY_MAX_MS,
    leaseMs: ALERT_LEASE_MS,
    deliverMs: ALERT_DELIVER_MS,
    deliver: (row) => deliverAlert((alert) => bus.request(alertRaised, alert), row),
  });
  const delivery = {
    store: makeDeliveryStore(pool),
    sender: makeWebhookSender({ privateAllowed }),
    now: () => clock.nowMs(),
    seal,
  };
  const webhooks = startOutbox({
    pool,
    log,
    table: WEBHOOK_OUTBOX,
    keysMax: WEBHOOK_KEYS_MAX,
    retryBaseMs: webhookRetry.baseMs,
    retryMaxMs: webhookRetry.maxMs,
    leaseMs: WEBHOOK_LEASE_MS,
    deliverMs: WEBHOOK_DELIVER_MS,
    deliver: (row) => deliverEvent(delivery, row),
  });
  const resealing = resealSecrets(makeWebhookStore(pool), seal).then(
    ({ resealed, unreadable }) => {
      if (unreadable > 0) log.error({ unreadable }, 'secrets of webhooks are sealed under a key that is not at hand');
      if (resealed > 0) log.info({ resealed }, 'secrets of webhooks were sealed under the current key');
    },
    (err: unknown) => log.error({ err }, 'secrets of webhooks were not looked after'),
  );
  return {
    tellNow() {
      alerts.nudge();
      webhooks.nudge();
    },
    async stop() {
      await Promise.all([alerts.stop(), webhooks.stop(), resealing]);
    },
  };
}
