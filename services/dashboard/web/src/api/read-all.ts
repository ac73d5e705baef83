import { request } from './request.js';

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

/** The most that one request may ask for. */
const PAGE_LIMIT_MAX = 200;

/** A list that is read to its end, or as far as that many pages go. */
export interface Whole<T> {
  readonly data: readonly T[];
  /** False: there is more. */
  readonly isWhole: boolean;
}

/** Reads a list page by page, because what is not there on one page may stand on the next. */
export async function readAll<T>(path: string, pagesMax: number, signal: AbortSignal): Promise<Whole<T>> {
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
