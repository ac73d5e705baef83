/** What a complete answer looks like; anything else is a failure. */
export interface Expected {
  readonly bytesMin: number;
  /** White space after it is not looked at. */
  readonly endsWith: string;
}

/** What a call sends, and what its answer must be. */
export interface Question {
  readonly body: string;
  readonly expected: Expected;
}

/** One run of the load: `connections` connections, each with one call after the other. */
export interface LoadJob extends Question {
  readonly port: number;
  readonly headers: readonly (readonly [string, string])[];
  /** Asked by this share of the calls in its place, evenly spread; absent: by none. */
  readonly among?: Question & { readonly share: number };
  /**
   * Calls carry the keys that the load was given under this name, in turn; null: all carry the same
   * made-up one.
   */
  readonly keysOf: string | null;
  readonly connections: number;
  /**
   * Calls begin at this rate on whichever connection is free; null: on each connection one after
   * the other.
   */
  readonly perSecond: number | null;
  /** The first calls of the connections are spread over these milliseconds; 0: all at once. */
  readonly rampMs: number;
  /** No new call after these seconds, or after this many calls; running calls are waited for. */
  readonly until: { readonly seconds: number } | { readonly calls: number };
}

/** Milliseconds. */
export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export interface LoadResult {
  /** Answered completely and as expected; nothing else is in the figures. */
  readonly calls: number;
  /** Failed calls by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** From the first call's start to the last one's end. */
  readonly elapsedMs: number;
  readonly firstByteMs: Spread;
  readonly completeMs: Spread;
}

export function failuresTotal(result: Pick<LoadResult, 'failures'>): number {
  return Object.values(result.failures).reduce((sum, count) => sum + count, 0);
}
