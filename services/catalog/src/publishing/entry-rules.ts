import {
  modelEntryKey,
  type CatalogModel,
  type CatalogProvider,
  type CatalogSource,
  type DatedVersion,
} from '@gateway/contracts/messages';
import { publishedVersions } from '../objects/version-rules.js';
import { toWireFigures } from '../objects/price-rules.js';
import type { CatalogSnapshot, DatedFigures } from '../objects/rules.js';
import { defaultAuth, defaultBetas, publishedBetas } from '../objects/source-rules.js';

/** The bucket's entries of a snapshot: the same snapshot always gives the same texts. */
export function entriesOf(snapshot: CatalogSnapshot): ReadonlyMap<string, string> {
  const { nowMs, prices, costs } = snapshot;
  const providers = new Map(snapshot.providers.map((provider) => [provider.id, provider]));
  const entries = new Map<string, string>();
  for (const provider of snapshot.providers) {
    const entry: CatalogProvider = { v: 1, ...provider };
    entries.set(`provider.${provider.id}`, JSON.stringify(entry));
  }
  for (const { createdAt, ...model } of snapshot.models) {
    const entry: CatalogModel = { v: 1, ...model, createdAt, prices: datedVersions(prices.get(model.id), nowMs) };
    entries.set(modelEntryKey(model.id), JSON.stringify(entry));
  }
  for (const source of snapshot.sources) {
    const format = providers.get(source.provider)?.format;
    const auth = source.auth ?? defaultAuth(format);
    const betas = publishedBetas(source.betas ?? defaultBetas(format));
    const entry: CatalogSource = { v: 1, ...source, auth, ...betas, costs: datedVersions(costs.get(source.id), nowMs) };
    entries.set(`source.${source.id}`, JSON.stringify(entry));
  }
  return entries;
}

function datedVersions(versions: readonly DatedFigures[] | undefined, nowMs: number): DatedVersion[] {
  return publishedVersions(versions ?? [], nowMs).map(({ version, effectiveFrom, figures }) => ({
    version,
    effectiveFrom,
    figures: figures === null ? null : toWireFigures(figures),
  }));
}
