import { accountsAudit, billingAudit, catalogAudit } from '@gateway/contracts/messages';
import {
  isRefusal,
  refuseCursor,
  type AuditEntryView,
  type AuditKind,
  type ManagementRefusal,
} from '@gateway/contracts/operator';
import type { RouteResult } from '../../http/route.js';
import type { Services } from '../route.js';
import {
  AUDIT_START,
  AUDITED,
  readAuditCursor,
  writeAuditCursor,
  type Audited,
  type AuditPosition,
  type AuditPositions,
} from './audit-cursor.js';

export interface AuditQuestion {
  readonly account: string | null;
  readonly object: string | null;
  /** Null: all kinds. */
  readonly kind: AuditKind | null;
  readonly cursor: string | null;
  readonly limit: number;
}

interface Page {
  readonly entries: readonly AuditEntryView[];
  readonly nextCursor: string | null;
}

/** Entries of one service that may be shown next, each with its page. */
interface PendingEntries {
  readonly entries: { readonly entry: AuditEntryView; readonly page: string | null }[];
  /** True if no entries follow. */
  readonly exhausted: boolean;
  /** Position where reading stopped. */
  readonly at: AuditPosition;
}

/**
 * Most pages read per service and response. More than one is read only if many entries were added
 * after the cursor was created.
 */
const PAGES_MAX = 20;

/**
 * Merges the audit logs of all services into one list, newest first. Catalog entries belong to no
 * account, so a list for one account omits them.
 */
export async function listAudit(services: Services, question: AuditQuestion): Promise<RouteResult> {
  const start = { accounts: AUDIT_START, catalog: AUDIT_START, billing: AUDIT_START };
  const from = question.cursor === null ? start : readAuditCursor(question.cursor);
  if (from === null) return refuseCursor();
  const read = await Promise.all(AUDITED.map((service) => readAhead(services, service, from[service], question)));
  const refused = read.find(isRefusal);
  if (refused !== undefined) return refused;
  const [accounts, catalog, billing] = read as [PendingEntries, PendingEntries, PendingEntries];
  return merge({ accounts, catalog, billing }, from, question.limit);
}

function merge(ahead: Record<Audited, PendingEntries>, from: AuditPositions, limit: number): RouteResult {
  const taken: Record<Audited, number> = { accounts: 0, catalog: 0, billing: 0 };
  const data: AuditEntryView[] = [];
  while (data.length < limit) {
    const heads = AUDITED.flatMap((service) => {
      const next = ahead[service].entries[taken[service]];
      return next === undefined ? [] : [{ service, entry: next.entry }];
    });
    // A service that is not exhausted and has no entry left here may have newer entries than the
    // others, so stop before them.
    if (AUDITED.some((service) => taken[service] === ahead[service].entries.length && !ahead[service].exhausted)) break;
    const newest = heads.reduce<(typeof heads)[number] | null>(
      (best, head) => (best === null || Date.parse(head.entry.at) > Date.parse(best.entry.at) ? head : best),
      null,
    );
    if (newest === null) break;
    data.push(newest.entry);
    taken[newest.service] += 1;
  }
  const next = Object.fromEntries(
    AUDITED.map((service) => [service, advancePosition(ahead[service], taken[service], from[service])]),
  ) as Record<Audited, AuditPosition>;
  const isEnd = AUDITED.every((service) => next[service].done);
  return { status: 200, body: { data, next_cursor: isEnd ? null : writeAuditCursor(next) } };
}

/** Returns a service's position after `taken` of its entries were shown. */
function advancePosition(
  { entries, exhausted, at }: PendingEntries,
  taken: number,
  from: AuditPosition,
): AuditPosition {
  if (taken === entries.length && exhausted) return { page: null, shown: null, done: true };
  const last = entries[taken - 1];
  if (last !== undefined) return { page: last.page, shown: numberOf(last.entry), done: false };
  const first = entries[0];
  // If none was shown, skip entries newer than the first one: they were added after this list
  // began.
  return first === undefined ? at : { ...from, shown: from.shown ?? numberOf(first.entry) + 1 };
}

async function readAhead(
  services: Services,
  service: Audited,
  from: AuditPosition,
  question: AuditQuestion,
): Promise<PendingEntries | ManagementRefusal> {
  // Only accounts records other kinds than changes. Catalog changes belong to no account.
  const isSilent =
    from.done ||
    (service === 'catalog' && question.account !== null) ||
    (service !== 'accounts' && question.kind !== null && question.kind !== 'change');
  if (isSilent) return { entries: [], exhausted: true, at: from };
  const entries: { entry: AuditEntryView; page: string | null }[] = [];
  let page = from.page;
  for (let pages = 1; ; pages += 1) {
    const answer = await askPage(services, service, question, page);
    if (isRefusal(answer)) return answer;
    const here = page;
    const isNew = (entry: AuditEntryView): boolean => from.shown === null || numberOf(entry) < from.shown;
    entries.push(...answer.entries.filter(isNew).map((entry) => ({ entry, page: here })));
    if (answer.nextCursor === null) return { entries, exhausted: true, at: from };
    page = answer.nextCursor;
    if (entries.length >= question.limit || pages >= PAGES_MAX) {
      return { entries, exhausted: false, at: { ...from, page } };
    }
  }
}

function askPage(
  services: Services,
  service: Audited,
  { account, object, kind, limit }: AuditQuestion,
  cursor: string | null,
): Promise<Page | ManagementRefusal> {
  switch (service) {
    case 'accounts':
      return services.request(accountsAudit, { account, object, ...(kind && { kind }), cursor, limit });
    case 'billing':
      return services.request(billingAudit, { account, object, cursor, limit });
    case 'catalog':
      return services.request(catalogAudit, { object, cursor, limit });
  }
}

/** Returns the number in an ID `<service>.<number>`; it increases within a service. */
function numberOf({ id }: AuditEntryView): number {
  return Number(id.slice(id.lastIndexOf('.') + 1));
}
