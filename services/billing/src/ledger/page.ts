import { UUID_PATTERN } from '@gateway/contracts/ids';
import { objectId } from '@gateway/contracts/messages';
import { type ManagementRefusal, refuse, refuseCursor } from '@gateway/contracts/operator';
import { monthEnd, monthStart } from '@gateway/metering';

export interface Page<T> {
  readonly items: T[];
  /** Cursor of the next page; null on the last page. */
  readonly nextCursor: string | null;
}

/** Maximum size of a page, safely below the bus limit of 1,000,000 bytes. */
export const PAGE_BYTES_MAX = 600_000;

/**
 * Builds a page from the first `limit` of at most `limit + 1` rows, which are ordered by name. The
 * cursor is the name of the last row. A page that would be too large for the bus is shorter, but
 * never empty.
 */
export function buildPage<T, V>(
  rows: readonly T[],
  limit: number,
  { nameOf, viewOf }: { readonly nameOf: (row: T) => string; readonly viewOf: (row: T) => V },
): Page<V> {
  const items: V[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, limit)) {
    const view = viewOf(row);
    bytes += Buffer.byteLength(JSON.stringify(view));
    if (items.length > 0 && bytes > PAGE_BYTES_MAX) break;
    items.push(view);
  }
  const last = rows[items.length - 1];
  return { items, nextCursor: rows.length > items.length && last !== undefined ? CURSOR_PREFIX + nameOf(last) : null };
}

export interface CursorPosition<T> {
  /** The name after which the page begins; null for the first page. */
  readonly after: T | null;
}

/** Reads the cursor of a list of UUIDs; refuses a cursor of another kind of list. */
export function readUuidCursor(cursor: string | null): CursorPosition<string> | ManagementRefusal {
  return readCursor(cursor, (name) => (UUID_PATTERN.test(name) ? name : null));
}

/** Reads the cursor of a list of object IDs. */
export function readIdCursor(cursor: string | null): CursorPosition<string> | ManagementRefusal {
  return readCursor(cursor, (name) => objectId.safeParse(name).data ?? null);
}

/** Reads the cursor of a list of names in any form. */
export function readNameCursor(cursor: string | null): CursorPosition<string> | ManagementRefusal {
  return readCursor(cursor, (name) => (name === '' ? null : name));
}

/** Reads the cursor of a list of numbered rows. */
export function readNumberCursor(cursor: string | null): CursorPosition<bigint> | ManagementRefusal {
  return readCursor(cursor, (name) => (NUMBER_PATTERN.test(name) ? BigInt(name) : null));
}

const CURSOR_PREFIX = 'after:';
/** Below 2^63, the limit of the database. */
const NUMBER_PATTERN = /^[1-9]\d{0,17}$/;

function readCursor<T>(cursor: string | null, read: (name: string) => T | null): CursorPosition<T> | ManagementRefusal {
  if (cursor === null) return { after: null };
  const after = cursor.startsWith(CURSOR_PREFIX) ? read(cursor.slice(CURSOR_PREFIX.length)) : null;
  return after === null ? refuseCursor() : { after };
}

/** The bounds of a calendar month (UTC) in epoch milliseconds, [from, to). */
export interface MonthBounds {
  readonly from: number;
  readonly to: number;
}

/** Refuses a month before 1970. */
export function readMonth(month: string): MonthBounds | ManagementRefusal {
  try {
    return { from: monthStart(month), to: monthEnd(month) };
  } catch (error) {
    if (error instanceof RangeError)
      return refuse('invalid_request', 'the ledger does not contain this month', 'month');
    throw error;
  }
}
