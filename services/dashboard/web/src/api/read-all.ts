import { request } from './request.js';

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

/** The largest page size of a request. */
const PAGE_LIMIT_MAX = 200;

/** A list that was read to its end, or up to the given number of pages. */
export interface FullList<T> {
  readonly data: readonly T[];
  /** False if more entries exist. */
  readonly isWhole: boolean;
}

/** Reads a list page by page, for pages that need all entries. */
export async function readAll<T>(path: string, pagesMax: number, signal: AbortSignal): Promise<FullList<T>> {
  const data: T[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    const answer: Page<T> = await request(path, { query: { limit: PAGE_LIMIT_MAX, cursor }, signal });
    data.push(...answer.data);
    cursor = answer.next_cursor;
    if (cursor === null) return { data, isWhole: true };
  }
  return { data, isWhole: false };
}
