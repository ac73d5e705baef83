import { z } from 'zod';
import { count, epochMs, objectId } from './scalars.js';

/** Edges that may hold a share of one source's quota at a time. */
export const QUOTA_SHARES_MAX = 256;

/**
 * Where edges agree on the quotas of sources: an entry for each source with quotas that is used.
 */
export const QUOTAS_BUCKET = {
  name: 'quotas',
  /** What is not written for so long says nothing any more: everything in it has ended by then. */
  ageMaxMs: 5 * 60_000,
  /** At 30 edges a source, about 10,000 sources. The oldest give way. */
  bytesMax: 64 * 1024 * 1024,
} as const;

/**
 * The share of an edge in the quotas of a source. `granted`, `sent` and `tokens` are counted from
 * the edge's start and only grow.
 */
const quotaShare = z.object({
  /** It ends then, unless its edge renews it. */
  until: epochMs,
  /** Requests that the edge may have sent by then, and those that it said it has. */
  granted: count,
  sent: count,
  /** Calls that it may have at the source at once, and those that it has. */
  calls: count,
  running: count,
  /** Tokens of calls that have ended, and estimated ones of the inputs of those that run. */
  tokens: count,
  underWay: count,
  /** It found no share for a call: others give back what they do not need. */
  short: z.boolean(),
});
export type QuotaShare = z.infer<typeof quotaShare>;

/**
 * An entry of the bucket: the key is the source's id. Edges change it by compare-and-set
 * (docs/decisions/0096-quotas-of-sources-are-leased.md).
 */
export const quotaEntry = z.object({
  v: z.literal(1),
  /** What was used, by the time from which it no longer counts; ascending. */
  spent: z.array(z.object({ until: epochMs, requests: count, tokens: count })).max(32),
  /** By edge. */
  shares: z.record(objectId, quotaShare),
});
export type QuotaEntry = z.infer<typeof quotaEntry>;
