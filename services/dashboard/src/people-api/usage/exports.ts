import type { z } from 'zod';
import { billingExportLedgerEntries, billingExportUsageRecords, entryId, requestId } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import { exportQuery } from '@gateway/contracts/pages';
import type { Handled } from '../../http/route.js';
import { exportPages } from '../../operator-api/money/export-pages.js';
import { contentTypeOf } from '../../operator-api/money/exports.js';
import { epochOf } from '../../operator-api/parameters.js';
import { type AccountRequest, defineRoute, refusePage } from '../route.js';
import { type CustomerFile, customerPages } from './customer-lines.js';

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
async function exportFile(file: CustomerFile, request: Request): Promise<Handled> {
  const { query } = request;
  const form = file === 'usage-records' ? requestId : entryId;
  if (query.cursor !== undefined && !form.safeParse(query.cursor).success) {
    return refusePage('invalid_request', 'cursor: must be the ID of a line', 'cursor');
  }
  const isWhole = query.cursor === undefined;
  const lines = await linesOf(file, request);
  const pages = customerPages(lines, file, query.format, isWhole);
  if (isRefusal(pages)) return pages;
  const contentType = contentTypeOf(query.format, isWhole);
  return { status: 200, file: { contentType, name: `${file}.${query.format}`, pages } };
}

function linesOf(file: CustomerFile, { services, account, query }: Request) {
  const of = { format: 'jsonl', account: account.id, from: epochOf(query.from), to: epochOf(query.to) } as const;
  const cursor = query.cursor ?? null;
  switch (file) {
    case 'usage-records':
      return exportPages((after) => services.request(billingExportUsageRecords, { ...of, after }), cursor);
    case 'ledger-entries':
      return exportPages((after) => services.request(billingExportLedgerEntries, { ...of, after }), cursor);
  }
}
