import {
  refuse,
  type ApplyChange,
  type CatalogObject,
  type ManagementRefusal,
  type ModelView,
  type SourceView,
  type VersionView,
} from '@gateway/contracts/operator';
import type { ObjectKey, SaveResult } from '../objects/rules.js';

/** Maximum JSON bytes of the changes of one document. Bus messages have at most 1,000,000 bytes. */
const CHANGES_BYTES_MAX = 900_000;

export function applyChangeOf({ kind, id }: ObjectKey, result: SaveResult<object>): ApplyChange {
  const { change, before, after, credentialChanged } = result;
  return {
    kind,
    id,
    change,
    before: before && withoutVersionIds(before),
    after: withoutVersionIds(after),
    credentialChanged,
  };
}

export function deletionOf({ kind, id }: ObjectKey, before: object): ApplyChange {
  return { kind, id, change: 'deleted', before: withoutVersionIds(before), after: null, credentialChanged: false };
}

/** Refuses changes that do not fit into one response, before they are committed. */
export function checkAnswerSize(changes: readonly ApplyChange[]): ManagementRefusal | null {
  if (Buffer.byteLength(JSON.stringify(changes)) <= CHANGES_BYTES_MAX) return null;
  return refuse('invalid_request', 'the document changes too much at once; split it', 'objects');
}

/** Refuses a document that lists an object twice. */
export function findTwice(objects: readonly CatalogObject[]): ManagementRefusal | null {
  const seen = new Set<string>();
  for (const [index, object] of objects.entries()) {
    if (seen.has(nameOf(object)))
      return refuse('invalid_request', `${nameOf(object)} is listed twice`, `objects[${index}]`);
    seen.add(nameOf(object));
  }
  return null;
}

/** Adds the object and its place in the document to a refusal. */
export function within({ refused }: ManagementRefusal, index: number, object: ObjectKey): ManagementRefusal {
  const { code, message, param } = refused;
  const place = `objects[${index}]${param === null ? '' : `.spec.${param}`}`;
  return refuse(code, `${nameOf(object)}: ${message}`, place);
}

export function nameOf({ kind, id }: ObjectKey): string {
  return `${kind} ${id}`;
}

type AnyView = Partial<ModelView & SourceView>;

/**
 * Removes version IDs. They are created when a version is written, so those of a dry run would not
 * exist later.
 */
function withoutVersionIds(view: object): Record<string, unknown> {
  const { priceVersion: _price, costVersion: _cost, upcomingPrices, upcomingCosts, ...fields }: AnyView = view;
  return {
    ...fields,
    ...(upcomingPrices && { upcomingPrices: upcomingPrices.map(withoutId) }),
    ...(upcomingCosts && { upcomingCosts: upcomingCosts.map(withoutId) }),
  };
}

function withoutId({ effectiveFrom, figures }: VersionView): object {
  return { effectiveFrom, figures };
}
