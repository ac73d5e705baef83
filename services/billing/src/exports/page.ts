import { hash } from 'node:crypto';
import type { AnswerBodyOf, billingExportUsageRecords } from '@gateway/contracts/messages';
import type { ExportFormat } from '@gateway/contracts/operator';
import { CSV_LINE_END, csvCell, type CsvKind, type CsvValue } from '@gateway/service-kit';

export type ExportPage = Exclude<AnswerBodyOf<typeof billingExportUsageRecords>, { refused: unknown }>;

/** Maximum of lines per page; a page that would be too large for the bus has fewer. */
export const EXPORT_LINES_MAX = 500;
/** Maximum size of a page as JSON text, safely below the bus limit of 1,000,000 bytes. */
export const EXPORT_BYTES_MAX = 700_000;

export interface PageSpec<T> {
  readonly format: ExportFormat;
  readonly columns: readonly Column<T>[];
  readonly idOf: (line: T) => string;
  /**
   * True for the first page of a file. Only this page has the CSV header, so that pages and resumed
   * downloads can be concatenated.
   */
  readonly first: boolean;
  /** True if there are more lines than the given ones. */
  readonly more: boolean;
}

/** Takes as many of the lines as fit, at least one. The same lines always give the same bytes. */
export function makePage<T>(lines: readonly T[], { format, columns, idOf, first, more }: PageSpec<T>): ExportPage {
  const parts: string[] = [];
  let bytes = 0;
  let taken = 0;
  if (first && format === 'csv') parts.push(csvHead(columns));
  for (const line of lines) {
    const part = format === 'csv' ? csvLine(columns, line) : `${JSON.stringify(line)}\n`;
    bytes += Buffer.byteLength(JSON.stringify(part));
    if (taken > 0 && bytes > EXPORT_BYTES_MAX) break;
    parts.push(part);
    taken += 1;
  }
  const text = parts.join('');
  const last = lines[taken - 1];
  return {
    text,
    sha256: hash('sha256', text, 'hex'),
    lines: taken,
    lastId: last === undefined ? null : idOf(last),
    more: more || taken < lines.length,
  };
}

/** A column of a CSV file. */
export interface Column<T> {
  readonly name: string;
  readonly kind: CsvKind;
  readonly value: (line: T) => CsvValue;
}

export function csvHead<T>(columns: readonly Column<T>[]): string {
  return columns.map(({ name }) => name).join(',') + CSV_LINE_END;
}

/** Null becomes an empty cell. */
export function csvLine<T>(columns: readonly Column<T>[], line: T): string {
  return columns.map(({ kind, value }) => csvCell(value(line), kind)).join(',') + CSV_LINE_END;
}

export function text<T>(name: string, value: Column<T>['value']): Column<T> {
  return { name, kind: 'text', value };
}

export function plain<T>(name: string, value: Column<T>['value']): Column<T> {
  return { name, kind: 'plain', value };
}
