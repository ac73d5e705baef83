import { type Bus, mirrorCatalog } from '@gateway/bus';
import { catalogAlias, catalogModel, type CatalogModel, type CatalogSource } from '@gateway/contracts/messages';
import type { Logger, openSealed, OpeningKeys } from '@gateway/service-kit';
import type { Authorizers, Catalog } from '../ports.js';
import { SourceEntries } from '../upstream/source-entries.js';

const MODEL_KEY = 'model.';
const SOURCE_KEY = 'source.';
const PROVIDER_KEY = 'provider.';
const ALIAS_KEY = 'alias.';

export interface CatalogMirror extends Catalog {
  /** Sets the function to call after each change, when the new copy is in force. */
  onChange(listener: () => void): void;
  ageMs(nowMs: number): number;
  /**
   * Number of sources left out because no configured key opens their credential; see {@link
   * SourceEntries}.
   */
  unreadable(): number;
  /** Number of sources whose credential is not sealed to the current key. */
  outdated(): number;
  stop(): Promise<void>;
}

/** Dependencies for reading source entries. */
export interface CatalogMirrorParts {
  readonly keys: OpeningKeys;
  readonly authorizers: Authorizers;
  readonly log: Logger;
  readonly open?: typeof openSealed;
}

/**
 * Follows the bucket `catalog`. Parses an entry once per change, and opens a credential at its
 * first use. Logs and leaves out entries that cannot be used; the other entries still serve.
 */
export function followCatalog(bus: Bus, { log, ...parts }: CatalogMirrorParts): CatalogMirror {
  const models = new Map<string, CatalogModel>();
  /** Catalog IDs by alias. */
  const aliases = new Map<string, string>();
  let byModel = new Map<string, CatalogSource[]>();
  let revision: number | null = null;
  let changedListener: () => void = () => undefined;
  const unusable = (err: unknown, key: string): void => log.error({ err, key }, 'a catalog entry cannot be used');
  const sources = new SourceEntries({
    ...parts,
    onUnusable: (id, err) => {
      unusable(err, SOURCE_KEY + id);
      byModel = groupByModel(sources.all());
    },
  });

  const takeOver = (key: string, text: string | undefined): void => {
    if (key.startsWith(MODEL_KEY)) {
      const id = decodeName(key, MODEL_KEY);
      models.delete(id);
      if (text !== undefined) models.set(id, catalogModel.parse(JSON.parse(text)));
    } else if (key.startsWith(SOURCE_KEY)) {
      const id = key.slice(SOURCE_KEY.length);
      if (text === undefined) sources.drop(id);
      else sources.take(id, text);
    } else if (key.startsWith(ALIAS_KEY)) {
      const name = decodeName(key, ALIAS_KEY);
      aliases.delete(name);
      if (text !== undefined) aliases.set(name, catalogAlias.parse(JSON.parse(text)).model);
    } else if (key.startsWith(PROVIDER_KEY)) {
      sources.takeProvider(key.slice(PROVIDER_KEY.length), text);
    }
  };

  const mirror = mirrorCatalog(bus, (entries, head, changed) => {
    for (const key of changed) {
      try {
        takeOver(key, entries.get(key));
      } catch (err) {
        unusable(err, key);
      }
    }
    byModel = groupByModel(sources.all());
    revision = head.revision;
    changedListener();
    log.info({ revision: head.revision, changed: changed.length }, 'catalog applied');
  });

  return {
    ready: () => mirror.ready(),
    revision: () => revision,
    onChange: (listener) => void (changedListener = listener),
    resolve: (name) => (models.has(name) ? name : (aliases.get(name) ?? name)),
    model: (id) => models.get(id),
    models: () => models.values(),
    entry: (id) => sources.entry(id),
    source: (id) => sources.opened(id),
    problemOf: (id) => sources.problemOf(id),
    sourcesOf: (model) => byModel.get(model) ?? [],
    ageMs: (nowMs) => mirror.ageMs(nowMs),
    unreadable: () => sources.unreadable,
    outdated: () => sources.outdated,
    stop: () => mirror.stop(),
  };
}

function decodeName(key: string, prefix: string): string {
  return Buffer.from(key.slice(prefix.length), 'base64url').toString();
}

function groupByModel(sources: Iterable<CatalogSource>): Map<string, CatalogSource[]> {
  const groups = new Map<string, CatalogSource[]>();
  for (const source of sources) {
    const group = groups.get(source.model);
    if (group === undefined) groups.set(source.model, [source]);
    else group.push(source);
  }
  return groups;
}
