import type { PriceFigures } from '@gateway/metering';
import type { SourceView } from '@gateway/contracts/operator';
import type { CatalogModel, CatalogProvider, CatalogSource } from '@gateway/contracts/messages';

/**
 * Objects of the catalog as they are compared and stored: complete, in one order of fields, without
 * their history.
 */
export interface Provider extends Pick<CatalogProvider, 'id' | 'name' | 'format'> {
  /** How its credential is sent; null: as each source's profile has it. */
  readonly auth: CatalogSource['auth'] | null;
  /** For its sources without one of their own; null: it has none. */
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
  /** Null: nothing is known but the provider's format. */
  readonly profile: string | null;
  readonly endpoints: CatalogSource['endpoints'];
  readonly paths: CatalogSource['paths'];
  readonly sealedCredential: string | null;
  readonly priority: number;
  readonly weight: number;
  readonly enabled: boolean;
  readonly limits: CatalogSource['limits'];
  /** From here on null means: as the profile has it. */
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

/** An object by its name; ids of different kinds may be the same. */
export interface Named {
  readonly kind: Kind;
  readonly id: string;
}

/**
 * Prices of a model or costs of a source from `effectiveFrom` (epoch milliseconds) on; `figures`
 * null: unpriced.
 */
export interface DatedFigures {
  readonly version: string;
  readonly effectiveFrom: number;
  readonly figures: PriceFigures | null;
}

/**
 * The whole catalog at one revision; versions of the past are left out, except the one in force.
 */
export interface CatalogSnapshot {
  readonly revision: number;
  /** Time of the database, epoch milliseconds. */
  readonly nowMs: number;
  readonly providers: readonly Provider[];
  readonly models: readonly (Model & { readonly createdAt: number })[];
  readonly sources: readonly Source[];
  readonly aliases: readonly Alias[];
  /** By model, ascending by time and order of writing. */
  readonly prices: ReadonlyMap<string, readonly DatedFigures[]>;
  /** By source, in the same order. */
  readonly costs: ReadonlyMap<string, readonly DatedFigures[]>;
}

/** What saving one object did, inside its transaction. */
export interface SaveResult<View> {
  readonly change: 'created' | 'changed' | 'unchanged';
  /** Before it; null: it was not there. */
  readonly before: View | null;
  readonly after: View;
  /** The credential is another one, which no view shows. */
  readonly credentialChanged: boolean;
}

/** Whether two objects of plain data have the same content, whatever the order of their fields. */
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
