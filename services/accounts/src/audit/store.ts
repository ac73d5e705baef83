import type { AuditEntryView } from '@gateway/contracts/operator';
import { timeText } from '../view-rules.js';
import type { AuditFilter } from '../ports.js';

export interface AuditRow {
  readonly id: bigint;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly account: string | null;
  readonly object_id: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly client: string | null;
  readonly agent: string | null;
  readonly request_id: string | null;
}

/** Only the conditions that are asked for: each of account, object and kind has an index of its own. */
export function auditText({ account, object, kind, below, limit }: AuditFilter): { text: string; values: unknown[] } {
  const values: unknown[] = [limit];
  const conditions = [
    ['account =', account],
    ['object_id =', object],
    ['kind =', kind],
    ['id <', below],
  ].flatMap(([condition, value]) => (value === null ? [] : [`${String(condition)} $${values.push(value)}`]));
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  return { text: `SELECT * FROM audit_log ${where} ORDER BY id DESC LIMIT $1`, values };
}

export function auditEntryFromRow(row: AuditRow): { readonly number: bigint; readonly view: AuditEntryView } {
  const view = {
    id: `accounts.${row.id}`,
    at: timeText(row.at.getTime()),
    actor: row.actor,
    action: row.action,
    accountId: row.account,
    objectId: row.object_id,
    before: row.before,
    after: row.after,
    origin: originOf(row),
  };
  return { number: row.id, view };
}

function originOf({ client, agent, request_id: requestId }: AuditRow): AuditEntryView['origin'] {
  return client === null && agent === null && requestId === null ? null : { client, agent, requestId };
}
