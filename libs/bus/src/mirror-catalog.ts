import { CATALOG_MIRRORED_EVERY_MS, catalogMirrored } from '@gateway/contracts/messages';
import { every } from '@gateway/service-kit';
import { randomBytes } from 'node:crypto';
import type { BucketMirror, BucketSwap, Bus } from './bus.js';

/** A restarted replica has its name again, and is another one. */
const NAME_BYTES = 4;

/**
 * Mirrors the bucket `catalog`, and tells the catalog by which revision this process decides: when
 * `onSwap` has taken it over, when the bus is back, and every two seconds; at the stop, which is to
 * come just before the handlers close, that nothing is decided by it any more.
 */
export function mirrorCatalog(
  bus: Pick<Bus, 'service' | 'replica' | 'mirrorBucket' | 'publish' | 'onReconnect'>,
  onSwap: BucketSwap,
): BucketMirror {
  const replica = `${bus.service}.${bus.replica}.${randomBytes(NAME_BYTES).toString('hex')}`;
  let revision: number | null = null;
  const tell = (last = false): void => {
    if (revision !== null) bus.publish(catalogMirrored, {}, { replica, revision, last });
  };
  const mirror = bus.mirrorBucket('catalog', (entries, head, changed) => {
    onSwap(entries, head, changed);
    revision = head.revision;
    tell();
  });
  const telling = every(CATALOG_MIRRORED_EVERY_MS, async () => tell());
  const unlisten = bus.onReconnect(() => tell());
  return {
    ...mirror,
    async stop() {
      await Promise.all([mirror.stop(), telling.stop()]);
      unlisten();
      tell(true);
    },
  };
}
