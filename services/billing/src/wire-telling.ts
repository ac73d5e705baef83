import type { Bus } from '@gateway/bus';
import { alertRaised } from '@gateway/contracts/messages';
import { startOutbox, type Pool } from '@gateway/postgres';
import type { RunningService } from '@gateway/service-kit';
import { deliverAlert } from './alert/deliver-alert.js';
import { ALERT_OUTBOX, WEBHOOK_OUTBOX } from './adapters/alert-rows.js';
import { makeDeliveryStore } from './adapters/delivery-store.js';
import { makeSecretSeal } from './adapters/secret-seal.js';
import { makeWebhookSender } from './adapters/webhook-sender.js';
import { makeWebhookStore } from './adapters/webhook-store.js';
import { deliverEvent } from './webhook/deliver-event.js';
import { resealSecrets } from './webhook/reseal-secrets.js';
import type { BillingOptions } from './wire.js';

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
