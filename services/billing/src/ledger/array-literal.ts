/** What a column of a batch holds. Texts may be anything; a null is the database's null. */
export type ArrayItem = string | number | bigint | boolean | null;

const PLAIN_TEXT = /^[^"\\]*$/;

/**
 * A one-dimensional PostgreSQL array as text, for `unnest`. The driver's own conversion takes several times as long, and
 * batches consist of little else.
 */
export function arrayLiteral(items: readonly ArrayItem[]): string {
  return `{${items.map(itemText).join(',')}}`;
}

function itemText(item: ArrayItem): string | number | bigint | boolean {
  if (item === null) return 'NULL';
  if (typeof item !== 'string') return item;
  return PLAIN_TEXT.test(item) ? `"${item}"` : `"${item.replace(/[\\"]/g, '\\$&')}"`;
}
