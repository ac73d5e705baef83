import type { Bus } from '@gateway/bus';
import { entriesOf } from './entry-rules.js';
import type { CatalogStore } from '../storage/store.js';
import type { PublicationLease } from './lease-store.js';

export interface PublishDeps {
  readonly store: CatalogStore;
  readonly bucket: CatalogBucket;
  readonly lease: PublicationLease;
  /** Called when the database is older than the published catalog. */
  readonly onOlderDatabase: (revisions: { database: number; published: number }) => void;
}

/**
 * Writes the newest committed catalog to the bucket and returns its revision, or null if another
 * replica has the lease. Rejects if the catalog cannot be stored.
 */
export async function publishCatalog(deps: PublishDeps): Promise<number | null> {
  return underLease(deps.lease, () => publishNewest(deps));
}

/** Whether the bucket is missing or old. False while another replica publishes. */
export async function isStale({ store, bucket, lease }: Omit<PublishDeps, 'onOlderDatabase'>): Promise<boolean> {
  const stale = await underLease(lease, async () => {
    const published = await bucket.publishedRevision();
    return published === null || published < (await store.revision());
  });
  return stale ?? false;
}

/**
 * Lets one replica at a time access the bucket. A late writer would overwrite a newer catalog, and
 * NATS 2.9.10 fails if a stream is read during its creation.
 */
async function underLease<T>(lease: PublicationLease, work: () => Promise<T>): Promise<T | null> {
  if (!(await lease.take())) return null;
  try {
    return await work();
  } finally {
    await lease.giveBack();
  }
}

async function publishNewest({ store, bucket, onOlderDatabase }: PublishDeps): Promise<number> {
  // The bucket is read first. If it is ahead of a database that is read later, the database lost
  // changes.
  const published = await bucket.publishedRevision();
  let snapshot = await store.snapshot();
  if (published !== null && published > snapshot.revision) {
    onOlderDatabase({ database: snapshot.revision, published });
    await store.raiseRevision(published + 1);
    snapshot = await store.snapshot();
  }
  await bucket.publish(entriesOf(snapshot), snapshot.revision);
  return snapshot.revision;
}

const BUCKET = 'catalog';

export type CatalogBucket = ReturnType<typeof createCatalogBucket>;

/** Creates access to the bucket that edges and admission mirror. */
export function createCatalogBucket(bus: Bus) {
  return {
    /** Returns the revision of the published catalog. Null: none is published. */
    publishedRevision: async (): Promise<number | null> => (await bus.bucketHead(BUCKET))?.revision ?? null,
    publish: (entries: ReadonlyMap<string, string>, revision: number): Promise<void> =>
      bus.publishBucket(BUCKET, entries, revision),
  };
}
