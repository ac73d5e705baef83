import { UUID_PATTERN } from '@gateway/contracts/ids';

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins; null on the last one. */
  readonly nextCursor: string | null;
}

/** The first `limit` of at most `limit + 1` rows, which are in descending order of their ids. */
export function pageOf<T extends { readonly id: string }>(rows: readonly T[], limit: number): Page<T> {
  const items = rows.slice(0, limit);
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
}

/** The id below which a page begins; null for the first page, and for a text that is no cursor of ours. */
export function readCursor(cursor: string | null): string | null {
  return cursor !== null && UUID_PATTERN.test(cursor) ? cursor : null;
}
