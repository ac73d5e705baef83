/** One column of a CSV. `text`: somebody may have chosen what it says; `plain`: its form is ours. */
export interface Column<T> {
  readonly name: string;
  readonly kind: 'text' | 'plain';
  readonly value: (line: T) => string | number | boolean | null;
}

/** RFC 4180: every line ends with it, the last one too. */
const LINE_END = '\r\n';
/**
 * A cell that begins like this would be run as a formula by a spreadsheet. An apostrophe before it prevents that; a text that
 * begins with one gets another, so that taking the first one away gives back any text.
 */
const ESCAPED_START = /^[=+\-@\t\r\n']/;
const QUOTED = /[",\r\n]/;

export function csvHead<T>(columns: readonly Column<T>[]): string {
  return columns.map(({ name }) => name).join(',') + LINE_END;
}

/** Null is an empty cell. */
export function csvLine<T>(columns: readonly Column<T>[], line: T): string {
  return columns.map(({ kind, value }) => cell(value(line), kind)).join(',') + LINE_END;
}

function cell(value: string | number | boolean | null, kind: Column<unknown>['kind']): string {
  if (value === null) return '';
  const text = String(value);
  const safe = kind === 'text' && ESCAPED_START.test(text) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
