import type { AnswerBodyOf, billingAudit, ReceivedOf } from '@gateway/contracts/messages';
import { type AuditEntryView, isRefusal } from '@gateway/contracts/operator';
import type { AuditStore, WrittenChange } from '../operator-ports.js';
import { pageOf, readNumberCursor } from './page.js';

/** Who changed what, newest first. */
export async function showAudit(
  store: AuditStore,
  { account, object, cursor, limit }: ReceivedOf<typeof billingAudit>,
): Promise<AnswerBodyOf<typeof billingAudit>> {
  const place = readNumberCursor(cursor);
  if (isRefusal(place)) return place;
  const changes = await store.changes({ account, objectId: object, before: place.after, limit: limit + 1 });
  const { items, nextCursor } = pageOf(changes, limit, {
    nameOf: ({ number }) => String(number),
    viewOf: toEntryView,
  });
  return { entries: items, nextCursor };
}

function toEntryView({ number, at, actor, action, account, objectId, before, after }: WrittenChange): AuditEntryView {
  return {
    id: `billing.${number}`,
    at: at.toISOString(),
    actor,
    action,
    objectId,
    accountId: account,
    before: before && { ...before },
    after: after && { ...after },
  };
}
