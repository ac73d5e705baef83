import type { AnswerOf, billingUsageSeries } from '@gateway/contracts/messages';

export type SeriesRow = Extract<AnswerOf<typeof billingUsageSeries>, { rows: unknown }>['rows'][number];

/** What a series sums. Times are epoch milliseconds, whole hours: [from, to). */
export interface SeriesQuery {
  readonly account: string;
  readonly from: number;
  readonly to: number;
  /** Length of one point: an hour or a day. */
  readonly stepMs: number;
  readonly groupBy: 'none' | 'model' | 'key' | 'member';
  readonly key: string | null;
  readonly model: string | null;
  readonly member: string | null;
  /** Groups with rows of their own: those that were charged most. */
  readonly groupsMax: number;
}

/** A row of a series with its group's place, 1 for the one that was charged most; those beyond `groupsMax` are one. */
export type PlacedRow = SeriesRow & { readonly place: number };

/** Calls that were not billed, by outcome. */
export interface UnbilledCalls {
  readonly voided: number;
  readonly expired: number;
}

export interface UsageHoursStore {
  /** Of the calls that a series of this query leaves out. */
  unbilled(query: SeriesQuery): Promise<UnbilledCalls>;
  /** In the order of their starts, within one of their charges, the largest first. */
  series(query: SeriesQuery): Promise<PlacedRow[]>;
}

export interface StandingValuesStore {
  /** Of the standing rows of an account that have such names. */
  values(account: string, names: readonly string[]): Promise<{ name: string; value: bigint }[]>;
}

/** Refused calls of one account, code and key in one minute. */
export interface RefusedCalls {
  readonly account: string;
  /** Start of the minute, epoch milliseconds. */
  readonly minute: number;
  readonly code: string;
  /** Null: of no key that is known. */
  readonly key: string | null;
  readonly count: number;
  /** The newest last. */
  readonly lastIds: readonly string[];
}

export interface RefusedQuery {
  readonly account: string;
  /** [from, to), epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly key: string | null;
  readonly limit: number;
}

export interface RefusedStore {
  /** Adds to what is kept of the same account, minute, code and key. */
  add(refused: readonly RefusedCalls[]): Promise<void>;
  /** Newest first, with the sums of all that lies within the bounds. */
  list(query: RefusedQuery): Promise<{ rows: RefusedCalls[]; totals: { code: string; count: number }[] }>;
  /** Null: no minute that is kept names the id. */
  find(requestId: string): Promise<RefusedCalls | null>;
  /** Deletes what lies before, epoch milliseconds; some at a time, all of it by and by. */
  forget(before: number): Promise<void>;
}
