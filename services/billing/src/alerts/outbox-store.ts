import type { Tx } from '@gateway/postgres';
import { arrayLiteral } from '../ledger/sql.js';
import { WEBHOOK_OUTBOX } from '../webhooks/store.js';
import { type Alert, toRaisedAlert, toWebhookEvent } from './rules.js';

/** Outbox of alerts to accounts. Events to webhooks have their own outbox. */
export const ALERT_OUTBOX = 'alert_outbox';

/**
 * Enqueues alerts: to accounts the highest alert of each limit, and to the account's enabled
 * webhook all alerts, in the given order.
 */
export async function enqueueAlerts(tx: Tx, alerts: readonly Alert[]): Promise<void> {
  if (alerts.length === 0) return;
  await enqueueAll(tx, ALERT_OUTBOX, 'alert', selectHighestAlerts(alerts).map(toKeyedMessage(toRaisedAlert)));
  const hooked = await tx.query<{ account: string }>(
    'SELECT account FROM webhooks WHERE enabled AND account = ANY ($1::text[])',
    [arrayLiteral([...new Set(alerts.map(({ account }) => account))])],
    { name: 'read_hooked' },
  );
  if (hooked.length === 0) return;
  const accounts = new Set(hooked.map(({ account }) => account));
  const events = alerts.filter(({ account }) => accounts.has(account));
  await tx.execute(
    `INSERT INTO webhook_deliveries (event, account)
     SELECT event, account FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS wanted (event, account, ordinal)
      ORDER BY ordinal`,
    [arrayLiteral(events.map(({ id }) => id)), arrayLiteral(events.map(({ account }) => account))],
    { name: 'insert_deliveries' },
  );
  await enqueueAll(tx, WEBHOOK_OUTBOX, 'webhook', events.map(toKeyedMessage(toWebhookEvent)));
}

/**
 * Returns the alert with the highest threshold for each limit and period, in the given order. One
 * email about the highest threshold contains everything that the others would report.
 */
function selectHighestAlerts(alerts: readonly Alert[]): Alert[] {
  const highest = new Map<string, Alert>();
  const nameOf = ({ account, subject, periodStart }: Alert) => JSON.stringify([account, subject, periodStart]);
  for (const alert of alerts) {
    const known = highest.get(nameOf(alert));
    if (known === undefined || known.threshold < alert.threshold) highest.set(nameOf(alert), alert);
  }
  return alerts.filter((alert) => highest.get(nameOf(alert)) === alert);
}

interface KeyedMessage {
  readonly account: string;
  readonly body: object;
}

function toKeyedMessage(body: (alert: Alert) => object): (alert: Alert) => KeyedMessage {
  return (alert) => ({ account: alert.account, body: body(alert) });
}

/**
 * Does the same as `enqueue` of the outbox for many rows in one statement. The caller holds the
 * locks of the accounts.
 */
async function enqueueAll(tx: Tx, table: string, topic: string, messages: readonly KeyedMessage[]): Promise<void> {
  await tx.execute(
    `INSERT INTO ${table} (topic, key, body)
     SELECT $1, account, body::jsonb FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS wanted (account, body, ordinal)
      ORDER BY ordinal`,
    [
      topic,
      arrayLiteral(messages.map(({ account }) => account)),
      arrayLiteral(messages.map(({ body }) => JSON.stringify(body))),
    ],
    { name: `enqueue_${table}` },
  );
}
