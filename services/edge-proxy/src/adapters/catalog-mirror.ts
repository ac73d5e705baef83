import type { Bus, BucketMirror } from '@gateway/bus';
import { catalogModel, catalogSource, type CatalogModel, type CatalogSource } from '@gateway/contracts/messages';
import { isSealedToCurrent, openSealed, SealError, type Logger, type OpeningKeys } from '@gateway/service-kit';
import type { Catalog, OpenedSource } from '../ports.js';

const BUCKET = 'catalog';
const MODEL_KEY = 'model.';
const SOURCE_KEY = 'source.';

/** Headers that belong to a connection or to the body: an operator's entry for one of them is left out. */
const CONNECTION_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export interface CatalogMirror extends Catalog {
  /** Called after each change with the new copy in force. */
  onChange(listener: () => void): void;
  ageMs(nowMs: number): number;
  /** Sources left out because no key at hand opens their credential. */
  unreadable(): number;
  /** Sources whose credential needs the previous key, or that of earlier releases. */
  outdated(): number;
  stop(): Promise<void>;
}

/**
 * Follows the bucket `catalog`. Entries are parsed and credentials opened once per change. An entry that cannot be used is
 * logged and left out: the others still serve.
 */
export function followCatalog(bus: Bus, keys: OpeningKeys, log: Logger): CatalogMirror {
  const models = new Map<string, CatalogModel>();
  const sources = new Map<string, OpenedSource>();
  const unreadable = new Set<string>();
  const outdated = new Set<string>();
  let byModel = new Map<string, CatalogSource[]>();
  let revision: number | null = null;
  let changedListener: () => void = () => undefined;

  const takeOver = (key: string, text: string | undefined): void => {
    if (key.startsWith(MODEL_KEY)) {
      const id = Buffer.from(key.slice(MODEL_KEY.length), 'base64url').toString();
      models.delete(id);
      if (text !== undefined) models.set(id, catalogModel.parse(JSON.parse(text)));
    } else if (key.startsWith(SOURCE_KEY)) {
      const id = key.slice(SOURCE_KEY.length);
      for (const one of [sources, unreadable, outdated]) one.delete(id);
      if (text !== undefined) takeSource(id, catalogSource.parse(JSON.parse(text)));
    }
  };

  const takeSource = (id: string, source: CatalogSource): void => {
    try {
      sources.set(id, openSource(source, keys));
    } catch (err) {
      if (err instanceof SealError) unreadable.add(id);
      throw err;
    }
    if (source.sealedCredential !== null && !isSealedToCurrent(source.sealedCredential, keys)) outdated.add(id);
  };

  const mirror: BucketMirror = bus.mirrorBucket(BUCKET, (entries, head, changed) => {
    for (const key of changed) {
      try {
        takeOver(key, entries.get(key));
      } catch (err) {
        log.error({ err, key }, 'a catalog entry cannot be used');
      }
    }
    byModel = groupByModel(sources.values());
    revision = head.revision;
    changedListener();
    log.info({ revision: head.revision, changed: changed.length }, 'catalog taken over');
  });

  return {
    ready: () => mirror.ready(),
    revision: () => revision,
    onChange: (listener) => void (changedListener = listener),
    model: (id) => models.get(id),
    models: () => models.values(),
    source: (id) => sources.get(id),
    sourcesOf: (model) => byModel.get(model) ?? [],
    ageMs: (nowMs) => mirror.ageMs(nowMs),
    unreadable: () => unreadable.size,
    outdated: () => outdated.size,
    stop: () => mirror.stop(),
  };
}

/** Throws SealError when the credential cannot be opened. */
export function openSource(source: CatalogSource, keys: OpeningKeys): OpenedSource {
  const base = new URL(source.baseUrl);
  const headers: string[] = [];
  if (source.sealedCredential !== null) {
    const credential = openSealed(source.sealedCredential, source.id, keys);
    if (source.auth.type === 'bearer') headers.push('authorization', `Bearer ${credential}`);
    else headers.push(source.auth.header.toLowerCase(), credential);
  }
  for (const [name, value] of Object.entries(source.headers)) {
    if (!CONNECTION_HEADERS.has(name.toLowerCase())) headers.push(name.toLowerCase(), value);
  }
  return { source, origin: base.origin, basePath: base.pathname.replace(/\/+$/, ''), headers };
}

function groupByModel(sources: Iterable<OpenedSource>): Map<string, CatalogSource[]> {
  const groups = new Map<string, CatalogSource[]>();
  for (const { source } of sources) {
    const group = groups.get(source.model);
    if (group === undefined) groups.set(source.model, [source]);
    else group.push(source);
  }
  return groups;
}
