import type { Bus } from '@gateway/bus';
import type { CatalogBucket } from '../ports.js';

const BUCKET = 'catalog';

export function makeCatalogBucket(bus: Bus): CatalogBucket {
  return {
    publishedRevision: async () => (await bus.bucketHead(BUCKET))?.revision ?? null,
    publish: (entries, revision) => bus.publishBucket(BUCKET, entries, revision),
  };
}
