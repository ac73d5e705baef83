import type { PriceFigures } from '@gateway/metering';
import type { SourceView } from '@gateway/contracts/operator';
import type { CatalogModel, CatalogProvider, CatalogSource } from '@gateway/contracts/messages';

/** Objects of the catalog as they are compared and stored: complete, and without history. */
export interface Provider extends Pick<CatalogProvider, 'id' | 'name' | 'format'> {
  /** How the credential is sent. Null: the source's profile decides. */
  readonly auth: CatalogSource['auth'] | null;
  /** The credential for sources without their own one. Null: none. */
  readonly sealedCredential: string | null;
}
export type Model = Omit<CatalogModel, 'v' | 'createdAt' | 'prices'>;
/** A name that clients may send for a model. */
export interface Alias {
  readonly id: string;
  readonly model: string;
}
export interface Source extends Pick<
  SourceView,
  'id' | 'upstreamModel' | 'parameters' | 'headers' | 'unpriced' | 'freeTools' | 'quota'
> {
  readonly model: string;
  readonly provider: string;
  /** Null: only the provider's format is known. */
  readonly profile: string | null;
  readonly endpoints: CatalogSource['endpoints'];
  readonly paths: CatalogSource['paths'];
  readonly sealedCredential: string | null;
  readonly priority: number;
  readonly weight: number;
  readonly enabled: boolean;
  readonly limits: CatalogSource['limits'];
  /** In this field and those below, null means the profile's value. */
  readonly baseUrl: string | null;
  readonly auth: CatalogSource['auth'] | null;
  readonly forwardHeaders: SourceView['forwardHeaders'] | null;
  readonly betas: SourceView['betas'] | null;
  readonly body: SourceView['body'] | null;
  readonly streamUsage: boolean | null;
  readonly cancelStopsBilling: boolean | null;
  readonly totalExtra: SourceView['totalExtra'] | null;
  readonly foreignIds: SourceView['foreignIds'] | null;
  readonly attachments: SourceView['attachments'] | null;
  readonly reportedCostAt: SourceView['reportedCostAt'];
}

export type Kind = 'provider' | 'model' | 'source' | 'alias';

/** Kind and ID of an object. Objects of different kinds may have the same ID. */
export interface ObjectKey {
  readonly kind: Kind;
  readonly id: string;
}

/**
 * Prices of a model or costs of a source that apply from `effectiveFrom` (epoch milliseconds). Null
 * `figures`: unpriced.
 */
export interface DatedFigures {
  readonly version: string;
  readonly effectiveFrom: number;
  readonly figures: PriceFigures | null;
}

/** The whole catalog at one revision, without past versions except those that are published. */
export interface CatalogSnapshot {
  readonly revision: number;
  /** The database's time, epoch milliseconds. */
  readonly nowMs: number;
  readonly providers: readonly Provider[];
  readonly models: readonly (Model & { readonly createdAt: number })[];
  readonly sources: readonly Source[];
  readonly aliases: readonly Alias[];
  /** Versions by model, sorted by time and then by order of writing. */
  readonly prices: ReadonlyMap<string, readonly DatedFigures[]>;
  /** Versions by source, in the same order. */
  readonly costs: ReadonlyMap<string, readonly DatedFigures[]>;
}

/** Result of saving one object, within its transaction. */
export interface SaveResult<View> {
  readonly change: 'created' | 'changed' | 'unchanged';
  /** The previous view. Null: the object is new. */
  readonly before: View | null;
  readonly after: View;
  /** Whether the credential was replaced, which no view shows. */
  readonly credentialChanged: boolean;
}

/** Whether two values of plain data are equal, regardless of the order of their fields. */
export function sameContent(a: unknown, b: unknown): boolean {
  return JSON.stringify(ordered(a)) === JSON.stringify(ordered(b));
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, part]) => [key, ordered(part)]);
}
