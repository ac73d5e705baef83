import type { CatalogSource } from '@gateway/contracts/messages';
import { NAMED_IDS_MAX, type StoredIdReference } from '../stored-ids/answer-names.js';

/** A source's settings for stored objects. */
type StorageSettings = Pick<CatalogSource, 'id' | 'keepsState' | 'foreignIds'>;

/** Returns whether the source accepts only IDs that the account received from the gateway. */
export function checksIds({ keepsState, foreignIds }: StorageSettings): boolean {
  return keepsState !== false && foreignIds !== 'forward';
}

/** The sources that a request with IDs of stored objects may use. */
export type AllowedSources =
  | { readonly kind: 'allowed'; readonly ids: ReadonlySet<string> }
  /**
   * The request is refused. `foreign`: the first stored ID that the account did not receive from
   * the gateway; null if the request has too many IDs.
   */
  | { readonly kind: 'refused'; readonly foreign: StoredIdReference | null };

/**
 * Returns the IDs to look up in the order of the request, up to the first ID that no account can
 * have received.
 */
export function listIdsToLookUp(named: readonly StoredIdReference[]): string[] {
  const end = named.findIndex((each) => isForeign(each));
  return (end < 0 ? named : named.slice(0, end)).map(({ id }) => id);
}

/** Returns whether no account can have received the ID. Nothing here creates conversations. */
function isForeign({ kind, isUnusable }: StoredIdReference): boolean {
  return kind === 'conversation' || isUnusable;
}

/**
 * Selects the sources that a request may use. If the account did not receive one of the IDs, or if
 * there are too many, only sources that do not check IDs remain. Otherwise the sources that
 * returned the IDs are used. If none of these is available, all are used, since sources of one
 * provider share stored objects.
 * @param sourceOf the source of each ID that the account received
 */
export function allowSources(
  sources: readonly StorageSettings[],
  named: readonly StoredIdReference[],
  sourceOf: ReadonlyMap<string, string>,
): AllowedSources {
  const foreign = named.find((each) => isForeign(each) || !sourceOf.has(each.id)) ?? null;
  if (foreign !== null || named.length > NAMED_IDS_MAX) {
    const unchecked = sources.filter((source) => !checksIds(source));
    return unchecked.length === 0 ? { kind: 'refused', foreign } : allow(unchecked);
  }
  const givers = new Set(named.map(({ id }) => sourceOf.get(id)));
  const giving = sources.filter(({ id }) => givers.has(id));
  return allow(giving.length === 0 ? sources : giving);
}

function allow(sources: readonly StorageSettings[]): AllowedSources {
  return { kind: 'allowed', ids: new Set(sources.map(({ id }) => id)) };
}

const NOUNS: Readonly<Record<StoredIdReference['kind'], string>> = {
  response: 'Previous response',
  conversation: 'Conversation',
  item: 'Item',
  container: 'Container',
};

/** Builds the error text. Clients search for these words and then send the whole conversation. */
export function formatNotFound({ kind, id }: Pick<StoredIdReference, 'kind' | 'id'>): string {
  return `${NOUNS[kind]} with id '${id}' not found.`;
}
