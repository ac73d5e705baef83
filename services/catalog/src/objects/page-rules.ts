import { refuseCursor, type ManagementRefusal } from '@gateway/contracts/operator';

/**
 * Where a list goes on: the list's name, so that a cursor of another list is recognised, and the
 * last entry's place.
 */
export function writeCursor(list: string, place: readonly string[]): string {
  return Buffer.from(JSON.stringify([list, ...place])).toString('base64url');
}

/** The place with that many parts; null when the text is no cursor of this list. */
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

/**
 * JSON bytes of one page; the bus carries messages of 1,000,000. A page that would be larger ends
 * earlier.
 */
const PAGE_BYTES_MAX = 800_000;

export interface PageRequest {
  /** Null: from the beginning. */
  readonly cursor: string | null;
  readonly limit: number;
}
export interface PageOf<Entry> {
  readonly entries: Entry[];
  readonly nextCursor: string | null;
}

/**
 * Where a list goes on, or null for its beginning. A text that is no cursor of this list is
 * refused.
 */
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
 * The page of what was found behind the cursor: at most `limit` entries and so many bytes, at least
 * one entry. `found` has one more than the limit when there are more.
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
