import { accountsAudit, accountsRecordAccess, type AnswerBodyOf, type ReceivedOf } from '@gateway/contracts/messages';
import { refuseCursor, type AuditEntryView, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Handlers } from '../base/serve.js';
import { pageOf, timeText } from '../base/rules.js';
import type { AuditStore } from './store.js';

export type ListAudit = ReceivedOf<typeof accountsAudit>;

/**
 * A cursor is the number of the last entry on the previous page. This many digits fit into
 * PostgreSQL's bigint.
 */
const NUMBER = /^[1-9]\d{0,17}$/;

/** Returns one page of the audit log, newest first. */
export async function listAudit(
  store: Pick<AuditStore, 'auditEntries'>,
  { account, object, kind, cursor, limit }: ListAudit,
): Promise<{ entries: AuditEntryView[]; nextCursor: string | null } | ManagementRefusal> {
  if (cursor !== null && !NUMBER.test(cursor)) return refuseCursor();
  const below = cursor === null ? null : BigInt(cursor);
  const found = await store.auditEntries({ account, object, kind: kind ?? null, below, limit: limit + 1 });
  const { items, nextCursor } = pageOf(found, limit, ({ number }) => String(number));
  return { entries: items.map(({ view }) => view), nextCursor };
}

/**
 * Writes audit entries that no service writes together with a change, and the counts of refused
 * attempts, in one transaction.
 */
export async function recordAccess(
  store: Pick<AuditStore, 'change'>,
  { entries }: ReceivedOf<typeof accountsRecordAccess>,
): Promise<AnswerBodyOf<typeof accountsRecordAccess>> {
  await store.change(async (tx) => {
    for (const entry of entries) {
      const { kind, actor, action, account, objectId, origin } = entry;
      const after = entry.kind === 'refused' ? { attempts: entry.attempts, since: timeText(entry.since) } : null;
      await tx.audit({ kind, author: { actor, origin }, action, account, objectId, before: null, after });
    }
  });
  return { recorded: true };
}

/** Registers the handlers of audit requests. */
export function serveAudit({ lookup, change }: Handlers, store: AuditStore): void {
  lookup(accountsAudit, (body) => listAudit(store, body));
  change(accountsRecordAccess, (body) => recordAccess(store, body));
}
