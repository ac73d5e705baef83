import { billingExportLedgerEntries, billingExportUsageRecords, entryId, requestId } from '@gateway/contracts/messages';
import { exportFormat, isRefusal, type ExportFormat, type ManagementRefusal } from '@gateway/contracts/operator';
import { z } from 'zod';
import { readExportPages, type ExportPage } from './export-pages.js';
import type { RouteResult } from '../../http/route.js';
import { defineRoute } from '../route.js';
import { toEpochMs, instant, objectId } from '../parameters.js';

const MEDIA_TYPES = ['text/csv', 'application/x-ndjson'];
/** Returns the media type. Only a file without a cursor begins with the CSV header. */
export function formatContentType(format: ExportFormat, isWhole: boolean): string {
  if (format === 'jsonl') return 'application/x-ndjson; charset=utf-8';
  return `text/csv; charset=utf-8; header=${isWhole ? 'present' : 'absent'}`;
}

const exported = {
  format: exportFormat.default('csv'),
  accountId: objectId.optional(),
  from: instant.optional(),
  to: instant.optional(),
};
/** The cursor is the ID of the last line of an incomplete file. */
const exportQuery = <C extends z.ZodType>(cursor: C) => z.object({ ...exported, cursor });

interface Query {
  readonly format: ExportFormat;
  readonly accountId?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly cursor?: string | undefined;
}

function questionOf({ format, accountId, from, to }: Query) {
  return { format, account: accountId ?? null, from: toEpochMs(from), to: toEpochMs(to) };
}

async function answerFile(
  name: string,
  { format, cursor }: Query,
  ask: (after: string | null) => Promise<ExportPage | ManagementRefusal>,
): Promise<RouteResult> {
  const pages = await readExportPages(ask, cursor ?? null);
  if (isRefusal(pages)) return pages;
  return {
    status: 200,
    file: { contentType: formatContentType(format, cursor === undefined), name: `${name}.${format}`, pages },
  };
}

export const EXPORT_ROUTES = [
  defineRoute({
    id: 'exportUsageRecords',
    method: 'GET',
    path: '/exports/usage-records',
    summary:
      'Exports usage records of requests in [from, to) as a file, oldest first; cursor: the requestId of the last line received',
    access: 'read',
    query: exportQuery(requestId.optional()),
    answers: { 200: z.string() },
    answerTypes: MEDIA_TYPES,
    handle: ({ services, query }) =>
      answerFile('usage-records', query, (after) =>
        services.request(billingExportUsageRecords, { ...questionOf(query), after }),
      ),
  }),
  defineRoute({
    id: 'exportLedgerEntries',
    method: 'GET',
    path: '/exports/ledger-entries',
    summary:
      'Exports ledger entries of requests and wallet entries in [from, to) as a file, oldest first; cursor: the entryId of the last line received',
    access: 'read',
    query: exportQuery(entryId.optional()),
    answers: { 200: z.string() },
    answerTypes: MEDIA_TYPES,
    handle: ({ services, query }) =>
      answerFile('ledger-entries', query, (after) =>
        services.request(billingExportLedgerEntries, { ...questionOf(query), after }),
      ),
  }),
];
