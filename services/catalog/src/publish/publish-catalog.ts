import { entriesOf } from '../domain/entries.js';
import type { CatalogSnapshot } from '../domain/objects.js';
import type { CatalogBucket, CatalogStore } from '../ports.js';

export interface PublishPorts {
  readonly store: CatalogStore;
  readonly bucket: CatalogBucket;
  /** Told when the database is older than what was published from it. */
  readonly onOlderDatabase: (facts: { database: number; published: number }) => void;
}

/** Writes the newest committed catalog to the bucket. Answers its revision; rejects when it is not stored. */
export async function publishCatalog({ store, bucket, onOlderDatabase }: PublishPorts): Promise<number> {
  // In this order: a bucket that is ahead of a database read after it means that the database lost changes.
  const published = await bucket.publishedRevision();
  let snapshot = await store.snapshot();
  if (published !== null && published > snapshot.revision) {
    onOlderDatabase({ database: snapshot.revision, published });
    await store.raiseRevision(published + 1);
    snapshot = await store.snapshot();
  }
  if (!(await isNewest(bucket, snapshot))) throw new Error('another replica published a newer catalog meanwhile');
  await bucket.publish(entriesOf(snapshot), snapshot.revision);
  return snapshot.revision;
}

/** Reading a large catalog takes a while: the revision in the head must never go back. */
async function isNewest(bucket: CatalogBucket, snapshot: CatalogSnapshot): Promise<boolean> {
  return ((await bucket.publishedRevision()) ?? 0) <= snapshot.revision;
}
