import type { z } from 'zod';
import { billingExportLedgerEntries, billingExportUsageRecords, entryId, requestId } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import { exportQuery } from '@gateway/contracts/pages';
import type { RouteResult } from '../../http/route.js';
import { readExportPages } from '../../operator-api/money/export-pages.js';
import { formatContentType } from '../../operator-api/money/exports.js';
import { toEpochMs } from '../../operator-api/parameters.js';
import { type AccountRequest, defineRoute, refusePage } from '../route.js';
import { type CustomerFile, convertPages } from './customer-lines.js';

type Request = AccountRequest & { readonly query: z.output<typeof exportQuery> };

export const EXPORT_PAGE_ROUTES = [
  defineRoute({
    id: 'exportUsageRecords',
    access: 'manager',
    method: 'GET',
    path: '/accounts/{account}/export/usage-records',
    query: exportQuery,
    handle: (request) => exportFile('usage-records', request),
  }),
  defineRoute({
    id: 'exportLedgerEntries',
    access: 'manager',
    method: 'GET',
    path: '/accounts/{account}/export/ledger-entries',
    query: exportQuery,
    handle: (request) => exportFile('ledger-entries', request),
  }),
];

/** Exports a file. Services send JSON lines, so that hidden columns can be removed. */
async function exportFile(file: CustomerFile, request: Request): Promise<RouteResult> {
  const { query } = request;
  const form = file === 'usage-records' ? requestId : entryId;
  if (query.cursor !== undefined && !form.safeParse(query.cursor).success) {
    return refusePage('invalid_request', 'cursor: must be the ID of a line', 'cursor');
  }
  const isWhole = query.cursor === undefined;
  const lines = await linesOf(file, request);
  const pages = convertPages(lines, file, query.format, isWhole);
  if (isRefusal(pages)) return pages;
  const contentType = formatContentType(query.format, isWhole);
  return { status: 200, file: { contentType, name: `${file}.${query.format}`, pages } };
}

function linesOf(file: CustomerFile, { services, account, query }: Request) {
  const of = { format: 'jsonl', account: account.id, from: toEpochMs(query.from), to: toEpochMs(query.to) } as const;
  const cursor = query.cursor ?? null;
  switch (file) {
    case 'usage-records':
      return readExportPages((after) => services.request(billingExportUsageRecords, { ...of, after }), cursor);
    case 'ledger-entries':
      return readExportPages((after) => services.request(billingExportLedgerEntries, { ...of, after }), cursor);
  }
}
