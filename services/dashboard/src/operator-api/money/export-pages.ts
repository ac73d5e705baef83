import { hash } from 'node:crypto';
import { isRefusal, type ManagementRefusal } from '@gateway/contracts/operator';

/** What a service answers to one page of a file. */
export interface ExportPage {
  readonly text: string;
  readonly sha256: string;
  readonly lastId: string | null;
  readonly more: boolean;
}

/**
 * The texts of a file, each asked for when the one before has been taken, so that one page is in
 * memory. The first page is asked for at once: a refusal or a fault can still be an answer. Rejects
 * later when a page cannot be had or has been damaged on its way: the file must then not end like a
 * whole one.
 */
export async function exportPages(
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
    if (hash('sha256', page.text, 'hex') !== page.sha256) throw new Error('a page of an export is not what was sent');
    yield page.text;
    if (!page.more || page.lastId === null) return;
    const next = await ask(page.lastId);
    if (isRefusal(next)) throw new Error(`an export was refused in its middle: ${next.refused.code}`);
    page = next;
  }
}
