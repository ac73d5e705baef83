import type { CatalogSource } from '@gateway/contracts/messages';
import { NAMED_IDS_MAX, type NamedId } from '../stored-ids/answer-names.js';

/** A source's settings for stored objects. */
type Keeping = Pick<CatalogSource, 'id' | 'keepsState' | 'foreignIds'>;

/** Whether the source only gets IDs that the account got. */
export function checksIds({ keepsState, foreignIds }: Keeping): boolean {
  return keepsState !== false && foreignIds !== 'forward';
}

/** Where a request that names stored objects may go. */
export type NamedSources =
  | { readonly kind: 'allowed'; readonly ids: ReadonlySet<string> }
  /** No source is left. `foreign`: the first ID that the account did not get; null: too many. */
  | { readonly kind: 'refused'; readonly foreign: NamedId | null };

/** IDs to look up, in the order of the request, up to the first that no account can have got. */
export function idsToLookUp(named: readonly NamedId[]): string[] {
  const end = named.findIndex((each) => isForeign(each));
  return (end < 0 ? named : named.slice(0, end)).map(({ id }) => id);
}

/** Nothing here makes conversations, so no account has got one. */
function isForeign({ kind, isUnusable }: NamedId): boolean {
  return kind === 'conversation' || isUnusable;
}

/**
 * Sources that do not check IDs get every request. The others get one only if the account got all
 * IDs: then those that gave them, where some of these are among the sources, else all, since
 * sources of one provider share what it keeps.
 * @param sourceOf of IDs that the account got
 */
export function allowSources(
  sources: readonly Keeping[],
  named: readonly NamedId[],
  sourceOf: ReadonlyMap<string, string>,
): NamedSources {
  const foreign = named.find((each) => isForeign(each) || !sourceOf.has(each.id)) ?? null;
  if (foreign !== null || named.length > NAMED_IDS_MAX) {
    const unchecked = sources.filter((source) => !checksIds(source));
    return unchecked.length === 0 ? { kind: 'refused', foreign } : allowed(unchecked);
  }
  const givers = new Set(named.map(({ id }) => sourceOf.get(id)));
  const giving = sources.filter(({ id }) => givers.has(id));
  return allowed(giving.length === 0 ? sources : giving);
}

function allowed(sources: readonly Keeping[]): NamedSources {
  return { kind: 'allowed', ids: new Set(sources.map(({ id }) => id)) };
}

const NOUNS: Readonly<Record<NamedId['kind'], string>> = {
  response: 'Previous response',
  conversation: 'Conversation',
  item: 'Item',
  container: 'Container',
};

/** In the words that clients look for, to send the whole conversation instead. */
export function notFoundText({ kind, id }: Pick<NamedId, 'kind' | 'id'>): string {
  return `${NOUNS[kind]} with id '${id}' not found.`;
}
