import { hash } from 'node:crypto';
import { isRefusal, type ManagementRefusal } from '@gateway/contracts/operator';

/** A service's response with one page of a file. */
export interface ExportPage {
  readonly text: string;
  readonly sha256: string;
  readonly lastId: string | null;
  readonly more: boolean;
}

/**
 * Returns the pages of a file. Each page is requested after the client has taken the one before, so
 * that only one is in memory. The first page is requested at once, so that its refusal or fault can
 * be an error response. The iteration rejects if a later page is unavailable or damaged; the file
 * must then be aborted.
 */
export async function readExportPages(
  ask: (after: string | null) => Promise<ExportPage | ManagementRefusal>,
  after: string | null,
): Promise<AsyncIterable<string> | ManagementRefusal> {
  const first = await ask(after);
  return isRefusal(first) ? first : pagesFrom(first, ask);
}

async function* pagesFrom(
  first: ExportPage,
  ask: (after: string | null) => Promise<ExportPage | ManagementRefusal>,
): AsyncGenerator<string> {
  for (let page = first; ;) {
    if (hash('sha256', page.text, 'hex') !== page.sha256) throw new Error('the checksum of an export page is wrong');
    yield page.text;
    if (!page.more || page.lastId === null) return;
    const next = await ask(page.lastId);
    if (isRefusal(next)) throw new Error(`a later page of an export was refused: ${next.refused.code}`);
    page = next;
  }
}
