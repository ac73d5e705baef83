import { CATALOG_REVISION_EVERY_MS, catalogRevisionUsed } from '@gateway/contracts/messages';
import { every, systemClock } from '@gateway/service-kit';
import { randomBytes } from 'node:crypto';
import type { BucketMirror, BucketSwap, Bus } from '../bus.js';

/** Distinguishes a restarted replica, which has the same name. */
const NAME_BYTES = 4;

/**
 * Mirrors the bucket `catalog` and reports to the catalog service which revision this process uses:
 * after `onSwap`, after a reconnect and every two seconds. Call `stop` just before the handlers
 * close; it reports that the process no longer uses any revision.
 */
export function mirrorCatalog(
  bus: Pick<Bus, 'service' | 'replica' | 'mirrorBucket' | 'publish' | 'onReconnect'>,
  onSwap: BucketSwap,
  clock = systemClock,
): BucketMirror {
  const replica = `${bus.service}.${bus.replica}.${randomBytes(NAME_BYTES).toString('hex')}`;
  let revision: number | null = null;
  const tell = (last = false): void => {
    if (revision !== null) bus.publish(catalogRevisionUsed, {}, { replica, revision, last });
  };
  const mirror = bus.mirrorBucket('catalog', (entries, head, changed) => {
    onSwap(entries, head, changed);
    revision = head.revision;
    tell();
  });
  const telling = every(CATALOG_REVISION_EVERY_MS, async () => tell(), { clock });
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
