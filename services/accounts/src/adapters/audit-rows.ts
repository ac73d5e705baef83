import type { AuditEntryView } from '@gateway/contracts/operator';
import { timeText } from '../domain/views.js';
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
}

/** Only the conditions that are asked for: each combination has an index of its own. */
export function auditText({ account, object, below, limit }: AuditFilter): { text: string; values: unknown[] } {
  const values: unknown[] = [limit];
  const conditions = [
    ['account =', account],
    ['object_id =', object],
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
  };
  return { number: row.id, view };
}
