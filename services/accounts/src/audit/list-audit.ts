import { refuseCursor, type AuditEntryView, type AuditKind, type ManagementRefusal } from '@gateway/contracts/operator';
import { pageOf } from '../domain/page.js';
import type { AccountsStore } from '../ports.js';

export interface ListAudit {
  readonly account: string | null;
  readonly object: string | null;
  readonly kind?: AuditKind | null | undefined;
  readonly cursor: string | null;
  readonly limit: number;
}

/** A cursor is the number of the last entry of the page before; as many digits fit into PostgreSQL's bigint. */
const NUMBER = /^[1-9]\d{0,17}$/;

/** One page of who did what, the newest first. */
export async function listAudit(
  store: Pick<AccountsStore, 'auditEntries'>,
  { account, object, kind = null, cursor, limit }: ListAudit,
): Promise<{ entries: AuditEntryView[]; nextCursor: string | null } | ManagementRefusal> {
  if (cursor !== null && !NUMBER.test(cursor)) return refuseCursor();
  const below = cursor === null ? null : BigInt(cursor);
  const found = await store.auditEntries({ account, object, kind, below, limit: limit + 1 });
  const { items, nextCursor } = pageOf(found, limit, ({ number }) => String(number));
  return { entries: items.map(({ view }) => view), nextCursor };
}
