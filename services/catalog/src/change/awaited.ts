import type { Announcer, Followers } from '../ports.js';

/** How long an answer waits until the change is in the bucket; after that it is answered all the same. */
export const PUBLISHED_WAIT_MS = 2_000;
/** The same for a document of up to a thousand objects. */
export const DOCUMENT_PUBLISHED_WAIT_MS = 5_000;
/** How long it then waits until every edge and admission that is alive decides by it. */
export const IN_FORCE_WAIT_MS = 3_000;

export interface AwaitPorts {
  readonly announcer: Announcer;
  readonly followers: Followers;
}

/** Announces a committed revision and answers whether it is in force everywhere; false: it will be, without a hand. */
export async function awaitInForce(
  { announcer, followers }: AwaitPorts,
  revision: number,
  publishedWaitMs = PUBLISHED_WAIT_MS,
): Promise<boolean> {
  // Also what another replica changed: this one may not know yet that it is published.
  if ((announcer.revision() ?? -1) < revision) announcer.announce();
  if (!(await announcer.published(revision, publishedWaitMs))) return false;
  return followers.haveAll(revision, IN_FORCE_WAIT_MS);
}
