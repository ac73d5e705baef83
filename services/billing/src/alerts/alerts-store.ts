import type { Tx } from '@gateway/postgres';
import type { AlertThreshold } from '@gateway/contracts/operator';
import { arrayLiteral } from '../ledger/array-literal.js';
import { planFromStored, type StoredPlan } from '../plans/plan-rows.js';
import type { PlanSpec } from '../subscriptions/terms-rules.js';
import { subjectOf } from './limit-rules.js';
import { type Alert, toRaisedAlert, toWebhookEvent } from './rules.js';

/** Alerts on their way to accounts, and events on their way to webhooks. */
export const ALERT_OUTBOX = 'alert_outbox';
export const WEBHOOK_OUTBOX = 'webhook_outbox';

export interface CapName {
  readonly account: string;
  readonly kind: 'key' | 'member';
  readonly id: string;
}

/** Caps that are there, in nano-USD. */
export async function readCaps(
  tx: Tx,
  names: readonly CapName[],
): Promise<(CapName & { readonly capNanoUsd: bigint })[]> {
  if (names.length === 0) return [];
  const rows = await tx.query<CapName & { cap_nano_usd: bigint }>(
    `SELECT account, kind, id, cap_nano_usd FROM spend_caps
       JOIN unnest($1::text[], $2::text[], $3::text[]) AS wanted (account, kind, id) USING (account, kind, id)
      WHERE cap_nano_usd IS NOT NULL`,
    [
      arrayLiteral(names.map(({ account }) => account)),
      arrayLiteral(names.map(({ kind }) => kind)),
      arrayLiteral(names.map(({ id }) => id)),
    ],
    { name: 'read_caps' },
  );
  return rows.map(({ account, kind, id, cap_nano_usd }) => ({ account, kind, id, capNanoUsd: cap_nano_usd }));
}

/** A subscription period with the windows of the plan version that it keeps. Times are epoch milliseconds. */
export interface PeriodWindows {
  readonly start: number;
  readonly end: number;
  readonly windows: PlanSpec['windows'];
}

/** Periods by their ids, ended ones too: a call is settled after its period has ended. */
export async function readPeriodWindows(tx: Tx, ids: readonly string[]): Promise<Map<string, PeriodWindows>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<{ id: string; period_start: Date; period_end: Date; spec: StoredPlan }>(
    `SELECT period.id, period.period_start, period.period_end, plan.spec
       FROM subscription_periods period
       JOIN plan_versions plan ON plan.plan_id = period.plan_id AND plan.version = period.plan_version
      WHERE period.id = ANY ($1::text[])`,
    [arrayLiteral(ids)],
    { name: 'read_period_windows' },
  );
  return new Map(
    rows.map((row) => [
      row.id,
      {
        start: row.period_start.getTime(),
        end: row.period_end.getTime(),
        windows: planFromStored(row.spec).windows,
      },
    ]),
  );
}

/** An alert that is raised unless it was before. */
export interface WantedAlert extends Omit<Alert, 'id' | 'subject' | 'raisedAt'> {
  /** The parts of the row's name. */
  readonly subject: string;
  readonly period: string;
}

export interface AlertRow {
  readonly id: string;
  readonly number: bigint;
  readonly account: string;
  readonly subject: string;
  readonly threshold: number;
  readonly limit_value: bigint;
  readonly used_value: bigint;
  readonly period_start: Date;
  readonly period_end: Date;
  readonly raised_at: Date;
}

export const ALERT_COLUMNS =
  'id, number, account, subject, threshold, limit_value, used_value, period_start, period_end, raised_at';

export function alertFromRow(row: AlertRow): Alert {
  return {
    id: row.id,
    account: row.account,
    subject: subjectOf(row.subject),
    // The table has no other.
    threshold: row.threshold as AlertThreshold,
    limit: row.limit_value,
    used: row.used_value,
    periodStart: row.period_start.getTime(),
    periodEnd: row.period_end.getTime(),
    raisedAt: row.raised_at.getTime(),
  };
}

/** Writes alerts that are new, in the order of their thresholds. @returns those */
export async function insertAlerts(tx: Tx, wanted: readonly WantedAlert[]): Promise<Alert[]> {
  const rows = await tx.query<AlertRow>(
    `INSERT INTO alerts (account, subject, period, threshold, limit_value, used_value, period_start, period_end)
     SELECT account, subject, period, threshold, limit_value, used_value,
            timestamptz 'epoch' + start_ms * interval '1 millisecond',
            timestamptz 'epoch' + end_ms * interval '1 millisecond'
       FROM unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
         AS wanted (account, subject, period, threshold, limit_value, used_value, start_ms, end_ms)
      ORDER BY account, subject, period, threshold
     ON CONFLICT DO NOTHING
     RETURNING ${ALERT_COLUMNS}`,
    [
      arrayLiteral(wanted.map(({ account }) => account)),
      arrayLiteral(wanted.map(({ subject }) => subject)),
      arrayLiteral(wanted.map(({ period }) => period)),
      arrayLiteral(wanted.map(({ threshold }) => threshold)),
      arrayLiteral(wanted.map(({ limit }) => limit)),
      arrayLiteral(wanted.map(({ used }) => used)),
      arrayLiteral(wanted.map(({ periodStart }) => periodStart)),
      arrayLiteral(wanted.map(({ periodEnd }) => periodEnd)),
    ],
    { name: 'insert_alerts' },
  );
  return rows.sort((one, other) => (one.number < other.number ? -1 : 1)).map(alertFromRow);
}

/** Alerts begin their ways: to accounts the highest of each limit, and all of them to the enabled webhook of an account, in the order given. */
export async function enqueueAlerts(tx: Tx, alerts: readonly Alert[]): Promise<void> {
  if (alerts.length === 0) return;
  await enqueueAll(tx, ALERT_OUTBOX, 'alert', highestOnes(alerts).map(keyed(toRaisedAlert)));
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
  await enqueueAll(tx, WEBHOOK_OUTBOX, 'webhook', events.map(keyed(toWebhookEvent)));
}

/** Of each limit and period the alert with the highest threshold, in the order given: a mail of it says all that the others would. */
function highestOnes(alerts: readonly Alert[]): Alert[] {
  const highest = new Map<string, Alert>();
  const nameOf = ({ account, subject, periodStart }: Alert) => JSON.stringify([account, subject, periodStart]);
  for (const alert of alerts) {
    const known = highest.get(nameOf(alert));
    if (known === undefined || known.threshold < alert.threshold) highest.set(nameOf(alert), alert);
  }
  return alerts.filter((alert) => highest.get(nameOf(alert)) === alert);
}

interface Keyed {
  readonly account: string;
  readonly body: object;
}

function keyed(body: (alert: Alert) => object): (alert: Alert) => Keyed {
  return (alert) => ({ account: alert.account, body: body(alert) });
}

/** As `enqueue` of the outbox, for many rows in one statement; the caller holds the locks of the accounts. */
async function enqueueAll(tx: Tx, table: string, topic: string, messages: readonly Keyed[]): Promise<void> {
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
