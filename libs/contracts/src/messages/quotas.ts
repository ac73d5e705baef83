import { z } from 'zod';
import { count, epochMs, objectId } from './scalars.js';

/** Maximum number of edges with a share of one source's quota at the same time. */
export const QUOTA_SHARES_MAX = 256;

/** The bucket in which edges share the quotas of sources: one entry per used source with quotas. */
export const QUOTAS_BUCKET = {
  name: 'quotas',
  /** Retention of an unchanged entry. All its shares and uses have ended by then. */
  ageMaxMs: 5 * 60_000,
  /** Room for about 10,000 sources at 30 edges each. The oldest entries are dropped. */
  bytesMax: 64 * 1024 * 1024,
} as const;

/**
 * One edge's share in the quotas of a source. `granted`, `sent` and `tokens` count from the edge's
 * start and only grow.
 */
const quotaShare = z.object({
  /** The share ends at this time unless its edge renews it. */
  until: epochMs,
  /** Requests that the edge may have sent by then, and requests that it has reported as sent. */
  granted: count,
  sent: count,
  /** Calls that the edge may run at the source at once, and calls that it runs. */
  calls: count,
  running: count,
  /** Tokens of ended calls, and estimated input tokens of running calls. */
  tokens: count,
  runningTokens: count,
  /** The edge had no share left for a call, so other edges return what they do not need. */
  short: z.boolean(),
});
export type QuotaShare = z.infer<typeof quotaShare>;

/**
 * An entry of the bucket, with the source's ID as key. Edges change it by compare-and-set
 * (docs/decisions/0096-quotas-of-sources-are-leased.md).
 */
export const quotaEntry = z.object({
  v: z.literal(1),
  /** Used amounts, each with the time from which it no longer counts, ascending. */
  spent: z.array(z.object({ until: epochMs, requests: count, tokens: count })).max(32),
  /** By edge. */
  shares: z.record(objectId, quotaShare),
});
export type QuotaEntry = z.infer<typeof quotaEntry>;
