/** Where a list goes on: the list's name, so that a cursor of another list is told apart, and the last entry's place. */
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
