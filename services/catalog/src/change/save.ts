import type { Announcer } from '../ports.js';

export type Saved = { readonly change: 'created' | 'changed' | 'unchanged'; readonly revision: number };

/** How long an answer waits until the change is in the bucket; after that it is answered all the same. */
export const PUBLISHED_WAIT_MS = 2_000;

/** Announces a committed change, and waits a while until edges and admission can see it. */
export async function awaitPublished(announcer: Announcer, saved: Saved): Promise<Saved> {
  if (saved.change !== 'unchanged') announcer.announce();
  await announcer.published(saved.revision, PUBLISHED_WAIT_MS);
  return saved;
}
