import type { IdPrefix } from './objects.js';

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins; null on the last one. */
  readonly nextCursor: string | null;
}

/** The first `limit` of at most `limit + 1` objects in the order of a list. The cursor is the id of the last one. */
export function pageOf<T>(found: readonly T[], limit: number, idOf: (item: T) => string): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: found.length > limit && last !== undefined ? idOf(last) : null };
}

const ID = /^([a-z]{3})_[0-9a-f]{32}$/;

/** Whether a list of these objects can have given this cursor; null is the first page. */
export function isCursorOf(prefix: IdPrefix, cursor: string | null): boolean {
  return cursor === null || ID.exec(cursor)?.[1] === prefix;
}
