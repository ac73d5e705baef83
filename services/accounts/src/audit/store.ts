import type { AuditEntryView, AuditKind } from '@gateway/contracts/operator';
import type { Tx } from '@gateway/postgres';
import { timeText } from '../base/rules.js';
import type { BaseTx, Changes } from '../base/store.js';

export type AuditStore = ReturnType<typeof createAuditReads> & Changes<BaseTx>;

/** Conditions of a list. Null matches all entries. */
export interface AuditFilter {
  readonly account: string | null;
  readonly object: string | null;
  readonly kind: AuditKind | null;
  readonly below: bigint | null;
  readonly limit: number;
}

interface AuditRow {
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

/** Creates the reads of the audit log. */
export function createAuditReads(queries: Tx) {
  return {
    /** Returns entries below a number, newest first. */
    async auditEntries(filter: AuditFilter): Promise<{ readonly number: bigint; readonly view: AuditEntryView }[]> {
      const { text, values } = auditText(filter);
      const rows = await queries.query<AuditRow>(text, values);
      return rows.map((row) => ({ number: row.id, view: viewOf(row) }));
    },
  };
}

/**
 * Builds the query with only the conditions that are set, because account, object and kind have
 * separate indexes.
 */
function auditText({ account, object, kind, below, limit }: AuditFilter): { text: string; values: unknown[] } {
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

function viewOf(row: AuditRow): AuditEntryView {
  const { client, agent, request_id: requestId } = row;
  return {
    id: `accounts.${row.id}`,
    at: timeText(row.at.getTime()),
    actor: row.actor,
    action: row.action,
    accountId: row.account,
    objectId: row.object_id,
    before: row.before,
    after: row.after,
    origin: requestId === null ? null : { client, agent, requestId },
  };
}
