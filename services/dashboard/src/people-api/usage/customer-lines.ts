import { USAGE_FILE_COLUMNS } from '@gateway/contracts/messages';
import { type ExportFormat, type LedgerEntryLine, type UsageRecordLine, isRefusal } from '@gateway/contracts/operator';
import { CSV_LINE_END, type CsvValue, csvCell } from '@gateway/service-kit';
import type { readExportPages } from '../../operator-api/money/export-pages.js';

/** A column of a customer's file: its name and its value in a line. */
type Column<T> = readonly [name: string, value: (line: T) => CsvValue];
type Pages = Awaited<ReturnType<typeof readExportPages>>;

/** Columns of usage records, without provider costs. */
const USAGE_COLUMNS: readonly Column<UsageRecordLine>[] = USAGE_FILE_COLUMNS.filter(
  ({ isForCustomers }) => isForCustomers,
).map(({ name, value }) => [name, value]);

/** Columns of ledger entries, without the operator. */
const LEDGER_COLUMNS: readonly Column<LedgerEntryLine>[] = [
  ['entryId', (line) => line.entryId],
  ['transactionId', (line) => line.transactionId],
  ['kind', (line) => line.kind],
  ['requestId', (line) => line.requestId],
  ['corrects', (line) => line.corrects],
  ['ledgerAccount', (line) => line.ledgerAccount],
  ['amountUsd', (line) => line.amountUsd],
  ['at', (line) => line.at],
  ['reference', (line) => line.reference],
  ['reason', (line) => line.reason],
  ['relatesTo', (line) => line.relatesTo],
];

const CUSTOMER_FILES = { 'usage-records': USAGE_COLUMNS, 'ledger-entries': LEDGER_COLUMNS } as const;
export type CustomerFile = keyof typeof CUSTOMER_FILES;

/**
 * Converts the pages of a JSON lines export to a customer's file, with only the columns above.
 * `whole`: a CSV file begins with its header.
 */
export function convertPages(pages: Pages, file: CustomerFile, format: ExportFormat, whole: boolean): Pages {
  if (isRefusal(pages)) return pages;
  const isShown = file === 'ledger-entries' ? isCustomersEntry : () => true;
  return transformed(pages, CUSTOMER_FILES[file] as readonly Column<never>[], isShown, format, whole);
}

async function* transformed(
  pages: AsyncIterable<string>,
  columns: readonly Column<never>[],
  isShown: (line: never) => boolean,
  format: ExportFormat,
  whole: boolean,
): AsyncGenerator<string> {
  let head = whole && format === 'csv' ? columns.map(([name]) => name).join(',') + CSV_LINE_END : '';
  for await (const page of pages) {
    const lines = page.split('\n').filter((line) => line !== '');
    const parsedLines = lines.map((line) => JSON.parse(line) as never).filter(isShown);
    const shown = parsedLines.map((parsed) => {
      const values = columns.map(([name, value]) => [name, value(parsed)] as const);
      return format === 'csv'
        ? csvLine(values.map(([, value]) => value))
        : `${JSON.stringify(Object.fromEntries(values))}\n`;
    });
    yield head + shown.join('');
    head = '';
  }
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;

function csvLine(values: readonly CsvValue[]): string {
  const cells = values.map((value) =>
    csvCell(value, typeof value === 'string' && !NUMBER.test(value) ? 'text' : 'plain'),
  );
  return cells.join(',') + CSV_LINE_END;
}

const COST = 'cost';
const PROVIDER_COST = 'provider-cost:';

/** Returns whether a customer may see an entry. Provider costs are hidden. */
export function isCustomersEntry({ ledgerAccount }: { readonly ledgerAccount: string }): boolean {
  return ledgerAccount !== COST && !ledgerAccount.startsWith(PROVIDER_COST);
}

/**
 * Returns a ledger transaction without cost entries. Cost entries balance each other, so the rest
 * still sums to zero.
 */
export function toCustomerTransaction<T extends { readonly entries: readonly { readonly ledgerAccount: string }[] }>(
  transaction: T,
): T {
  return { ...transaction, entries: transaction.entries.filter(isCustomersEntry) };
}
