import { randomBytes } from 'node:crypto';
import type { Bus } from '@gateway/bus';
import { CATALOG_MIRRORED_EVERY_MS, catalogMirrored } from '@gateway/contracts/messages';

/** A restarted replica has its name again, and is another one. */
const NAME_BYTES = 4;

export interface CatalogTeller {
  /** This process decides by this revision from now on. */
  revision(revision: number): void;
  /** This process decides nothing any more. */
  stop(): void;
}

/** Tells catalog by which revision this process decides: at once when it changes or the bus is back, and every two seconds. */
export function tellCatalog(bus: Bus): CatalogTeller {
  const replica = `${bus.service}.${bus.replica}.${randomBytes(NAME_BYTES).toString('hex')}`;
  let current: number | null = null;
  const tell = (last: boolean): void => {
    if (current !== null) bus.publish(catalogMirrored, {}, { replica, revision: current, last });
  };
  const timer = setInterval(() => tell(false), CATALOG_MIRRORED_EVERY_MS);
  const unlisten = bus.onReconnect(() => tell(false));
  return {
    revision(revision) {
      current = revision;
      tell(false);
    },
    stop() {
      clearInterval(timer);
      unlisten();
      tell(true);
    },
  };
}
