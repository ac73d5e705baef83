import { type Bus, mirrorCatalog } from '@gateway/bus';
import { catalogModel, catalogSource } from '@gateway/contracts/messages';
import type { CatalogModel, CatalogSource } from '@gateway/contracts/messages';
import { gauge, type TimerClock } from '@gateway/service-kit';
import { buildCatalogView } from '../admit/catalog-view-rules.js';
import type { CatalogView } from '../admit/catalog-view-rules.js';
import type { Catalog, Log } from '../ports.js';

type Parsed = { readonly model: CatalogModel } | { readonly source: CatalogSource } | null;

export interface CatalogMirror extends Catalog {
  /**
   * Stops the mirror and notifies catalog that this replica no longer uses it. Call this just
   * before the handlers close.
   */
  stop(): Promise<void>;
}

/**
 * Mirrors the models and sources of the KV bucket. Only changed entries are read again. An
 * unreadable entry is skipped.
 */
export function startCatalogMirror(bus: Bus, log: Log, clock: TimerClock): CatalogMirror {
  const parsed = new Map<string, Parsed>();
  let view: CatalogView | null = null;
  const mirror = mirrorCatalog(
    bus,
    (entries, head, changed) => {
      for (const key of changed) {
        const text = entries.get(key);
        if (text === undefined) parsed.delete(key);
        else parsed.set(key, parseEntry(key, text, log));
      }
      const known = [...parsed.values()];
      view = buildCatalogView(
        known.flatMap((entry) => (entry && 'model' in entry ? [entry.model] : [])),
        known.flatMap((entry) => (entry && 'source' in entry ? [entry.source] : [])),
      );
      log.info({ revision: head.revision, models: view.size }, 'the catalog has changed');
    },
    clock,
  );
  gauge('gateway_admission_catalog_revision', 'Catalog revision that decisions use', () => mirror.revision());
  gauge('gateway_admission_catalog_age_seconds', 'Time since the catalog copy was last known to be current', () =>
    mirror.ready() ? mirror.ageMs(clock.nowMs()) / 1_000 : -1,
  );
  return { view: () => view, stop: () => mirror.stop() };
}

function parseEntry(key: string, text: string, log: Log): Parsed {
  try {
    if (key.startsWith('model.')) return { model: catalogModel.parse(JSON.parse(text)) };
    if (key.startsWith('source.')) return { source: catalogSource.parse(JSON.parse(text)) };
    return null;
  } catch (err) {
    log.error({ err, key }, 'a catalog entry cannot be read');
    return null;
  }
}
