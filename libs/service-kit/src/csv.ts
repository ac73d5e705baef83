/**
 * `text`: content that a client or an operator may have chosen. `plain`: content in a form of the
 * gateway.
 */
export type CsvKind = 'text' | 'plain';
export type CsvValue = string | number | boolean | null;

/** RFC 4180: ends every line, including the last one. */
export const CSV_LINE_END = '\r\n';

/**
 * Spreadsheets evaluate a cell that begins like this as a formula, some of them also the full-width
 * forms. A leading apostrophe prevents that. A text that begins with an apostrophe gets another
 * one, so that removing the first one restores any text.
 */
const ESCAPED_START = /^[=+\-@\t\r\n'＝＋－＠]/;
const QUOTED = /[",;\t\r\n]/;

/**
 * Formats one cell; null is an empty cell. Text is always quoted: where a spreadsheet separates
 * cells by `;` or a tab, an unquoted text could start another cell.
 */
export function csvCell(value: CsvValue, kind: CsvKind): string {
  if (value === null) return '';
  const text = String(value);
  if (kind === 'plain' && !QUOTED.test(text)) return text;
  const safe = kind === 'text' && ESCAPED_START.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
