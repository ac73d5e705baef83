import { refuseCursor, type ManagementRefusal } from '@gateway/contracts/operator';

/**
 * Builds a cursor from the list's name and the place of the last entry. The name identifies cursors
 * of other lists.
 */
export function writeCursor(list: string, place: readonly string[]): string {
  return Buffer.from(JSON.stringify([list, ...place])).toString('base64url');
}

/** Returns the place in a cursor of this list with that many parts. Null: the cursor is invalid. */
export function readCursor(list: string, cursor: string, parts: number): readonly string[] | null {
  const value = parsed(Buffer.from(cursor, 'base64url').toString());
  if (!Array.isArray(value) || value.length !== parts + 1 || value[0] !== list) return null;
  const place: unknown[] = value.slice(1);
  return place.every((part): part is string => typeof part === 'string' && !part.includes('\0')) ? place : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Maximum JSON bytes of a page, which then ends early. Bus messages have at most 1,000,000. */
const PAGE_BYTES_MAX = 800_000;

export interface PageRequest {
  /** Null: from the first entry. */
  readonly cursor: string | null;
  readonly limit: number;
}
export interface PageOf<Entry> {
  readonly entries: Entry[];
  readonly nextCursor: string | null;
}

/** Returns the place where a page begins. Null: the first entry. Refuses an invalid cursor. */
export function placeOf(
  list: string,
  { cursor }: PageRequest,
  parts = 1,
): { readonly place: readonly string[] } | null | ManagementRefusal {
  if (cursor === null) return null;
  const place = readCursor(list, cursor, parts);
  return place ? { place } : refuseCursor();
}

/**
 * Builds a page of at least one and at most `limit` entries within {@link PAGE_BYTES_MAX}. `found`
 * has one more entry than the limit if there are more.
 */
export function pageOf<Entry>(
  list: string,
  found: readonly Entry[],
  limit: number,
  place: (entry: Entry) => readonly string[],
): PageOf<Entry> {
  const entries: Entry[] = [];
  let bytes = 0;
  for (const entry of found.slice(0, limit)) {
    bytes += Buffer.byteLength(JSON.stringify(entry));
    if (entries.length > 0 && bytes > PAGE_BYTES_MAX) break;
    entries.push(entry);
  }
  const last = entries.at(-1);
  return { entries, nextCursor: last && entries.length < found.length ? writeCursor(list, place(last)) : null };
}
