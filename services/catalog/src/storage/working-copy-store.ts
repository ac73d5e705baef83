import type { Tx } from '@gateway/postgres';
import { withVersion } from '../objects/version-rules.js';
import type {
  Alias,
  CatalogSnapshot,
  DatedFigures,
  Kind,
  Model,
  Provider,
  Source,
  ObjectKey,
} from '../objects/rules.js';
import type { CatalogTx } from './change-sql.js';
import {
  type ChangeRecord,
  markDeleted,
  writeAliases,
  writeModels,
  writeProviders,
  writeRecords,
  writeSources,
  writeVersions,
  type OwnedVersion,
} from './writes-sql.js';
import { newVersion, toVersionOwner } from './versions-sql.js';

/** A change of many objects. */
export interface DocumentTx extends CatalogTx {
  /** Returns all existing providers, models, sources and aliases. */
  names(): readonly ObjectKey[];
}

export interface WorkingCopy extends DocumentTx {
  /** Writes the changes. Call it once, before the commit. */
  flush(): Promise<void>;
}

/**
 * Creates an in-memory copy of the catalog for a change of many objects. Separate queries per
 * object would hold the lock for seconds. The caller holds the lock of the state row and has read
 * `snapshot` under it.
 */
export function createWorkingCopy(tx: Tx, snapshot: CatalogSnapshot): WorkingCopy {
  const { nowMs } = snapshot;
  const providers = tracked<Provider>(snapshot.providers);
  const models = tracked<Model>(snapshot.models.map(({ createdAt: _kept, ...model }) => model));
  const sources = tracked<Source>(snapshot.sources);
  const aliases = tracked<Alias>(snapshot.aliases);
  const objects = { provider: providers, model: models, source: sources, alias: aliases };
  const shown = { prices: new Map(snapshot.prices), costs: new Map(snapshot.costs) };
  const added = { prices: [] as OwnedVersion[], costs: [] as OwnedVersion[] };
  const records: ChangeRecord[] = [];

  const countSources = (): ReadonlyMap<string, number> => {
    const counts = new Map<string, number>();
    for (const { model } of sources.all()) counts.set(model, (counts.get(model) ?? 0) + 1);
    return counts;
  };

  const addVersion: CatalogTx['addVersion'] = (priced, figures) => {
    const { of, owner } = toVersionOwner(priced);
    const version = newVersion(of, figures);
    added[of].push({ ...version, owner });
    shown[of].set(owner, withVersion<DatedFigures>(shown[of].get(owner) ?? [], version));
    return Promise.resolve(version);
  };

  return {
    nowMs,
    revision: () => snapshot.revision + records.length,
    provider: (id) => Promise.resolve(providers.get(id)),
    model: (id) => Promise.resolve(models.get(id)),
    source: (id) => Promise.resolve(sources.get(id)),
    alias: (id) => Promise.resolve(aliases.get(id)),
    versions(priced) {
      const { of, owner } = toVersionOwner(priced);
      return Promise.resolve(shown[of].get(owner) ?? []);
    },
    names: () => KINDS.flatMap((kind) => objects[kind].all().map(({ id }) => ({ kind, id }))),
    withCredential: () =>
      Promise.resolve({
        providers: providers.all().filter(hasCredential),
        sources: sources.all().filter(hasCredential),
      }),
    sourceUsing: (kind, id) => Promise.resolve(sources.all().find((source) => source[kind] === id)?.id ?? null),
    aliasOf: (model) => Promise.resolve(aliases.all().find((alias) => alias.model === model)?.id ?? null),
    countAliases: () => Promise.resolve(aliases.all().length),
    crowdedModels: (sourcesMax) =>
      Promise.resolve(new Set([...countSources()].flatMap(([model, count]) => (count > sourcesMax ? [model] : [])))),
    countObjects: () => Promise.resolve(KINDS.reduce((count, kind) => count + objects[kind].all().length, 0)),
    saveProvider: (provider) => providers.save(provider),
    saveModel: (model) => models.save(model),
    saveSource: (source) => sources.save(source),
    saveAlias: (alias) => aliases.save(alias),
    remove: (kind, id) => objects[kind].remove(id),
    addVersion,
    record(change) {
      records.push(change);
      return Promise.resolve();
    },
    async flush() {
      await writeProviders(tx, providers.saved());
      await writeModels(tx, models.saved());
      await writeSources(tx, sources.saved());
      await writeAliases(tx, aliases.saved());
      await writeVersions(tx, 'prices', added.prices);
      await writeVersions(tx, 'costs', added.costs);
      for (const kind of KINDS) await markDeleted(tx, kind, objects[kind].removed(), nowMs);
      await writeRecords(tx, snapshot.revision, records);
    },
  };
}

const hasCredential = ({ sealedCredential }: Source | Provider): boolean => sealedCredential !== null;

const KINDS: readonly Kind[] = ['alias', 'source', 'model', 'provider'];

/** Tracks changes of the objects of one kind. An object is either saved or removed. */
function tracked<T extends { readonly id: string }>(present: readonly T[]) {
  const objects = new Map(present.map((object) => [object.id, object]));
  const saved = new Map<string, T>();
  const removed = new Set<string>();
  return {
    get: (id: string): T | null => objects.get(id) ?? null,
    all: (): T[] => [...objects.values()],
    saved: (): T[] => [...saved.values()],
    removed: (): string[] => [...removed],
    save(object: T): Promise<void> {
      objects.set(object.id, object);
      saved.set(object.id, object);
      return Promise.resolve();
    },
    remove(id: string): Promise<void> {
      objects.delete(id);
      removed.add(id);
      return Promise.resolve();
    },
  };
}
