import { z } from 'zod';
import { tokenUsage } from '../messages/call.js';
import { ENDPOINTS } from '../messages/scalars.js';
import { ATTEMPT_OUTCOMES } from '../messages/call.js';
import { objectId, time } from './scalars.js';

/** A running call in the limit store. */
export const slotView = z.object({
  requestId: z.string(),
  accountId: objectId,
  keyId: objectId,
  memberId: objectId,
  modelId: z.string(),
  /** The edge whose heartbeat last listed the call. Null before the first heartbeat. */
  edge: z.string().nullable(),
  /**
   * `open`: the call runs. `expiring`: its edge is silent, and the amount stays held until the hold
   * is resolved.
   */
  state: z.enum(['open', 'expiring']),
  /** Whether the call uses a concurrency slot. */
  takesSlot: z.boolean(),
  /** The amount held in the account's wallet, decimal string of USD. */
  heldUsd: z.string(),
  admittedAt: time,
  /** When the slot is freed unless the edge sends a heartbeat. Null without a slot. */
  leaseUntil: time.nullable(),
  dueAt: time,
});
export type SlotView = z.infer<typeof slotView>;

/** Results of attempts at a source. */
const sourceFigures = {
  attempts: z.int().min(0),
  /** Share of attempts that failed because of the source, 0 to 1. Null: no attempts. */
  errorShare: z.number().min(0).max(1).nullable(),
  /** Moving average of the milliseconds to the response head. Null: no response. */
  firstByteMs: z.int().min(0).nullable(),
  /** Attempts without a share of the source's quotas, because no other source was left. */
  overQuota: z.int().min(0),
};

const used = z.object({ used: z.int().min(0), allowed: z.int().min(1) }).nullable();
/** Quota use of a source by all edges. Rates are those of the last minute. Null: not set. */
export const quotaUse = z.object({ requestsPerMinute: used, callsAtOnce: used, tokensPerMinute: used });
export type QuotaUse = z.infer<typeof quotaUse>;

/** The health of one source at one edge, and at all edges together. */
export const sourceHealthView = z.object({
  sourceId: objectId,
  modelId: z.string(),
  /** The edge that reported it. */
  edge: z.string(),
  /** `cooling`: in its cooldown after a 429. `open`: its breaker is open. Both are tried last. */
  state: z.enum(['healthy', 'cooling', 'open']),
  failuresInARow: z.int().min(0),
  restsUntil: time.nullable(),
  lastOutcome: z.enum(ATTEMPT_OUTCOMES).nullable(),
  lastStatus: z.int().nullable(),
  lastAttemptAt: time.nullable(),
  reportedAt: time,
  /** Of the last 2.5 to 5 minutes, at this edge. */
  ...sourceFigures,
  /**
   * Quota use as this edge last read it. Null: no quota is set, or this edge has not used the
   * source recently.
   */
  quota: quotaUse.nullable().default(null),
  /**
   * Totals of all edges that reported the source within half a minute. Null: a catalog of the
   * previous version does not send them.
   */
  together: z
    .object({
      edges: z.int().min(1),
      /** Edges at which the source is in its cooldown. */
      resting: z.int().min(0),
      ...sourceFigures,
    })
    .nullable()
    .default(null),
});
export type SourceHealthView = z.infer<typeof sourceHealthView>;

/** Findings of a source test. All except `works` are problems. */
export const TEST_FINDINGS = [
  'works',
  'credential', // the provider refuses it, it cannot be opened, or no token could be fetched
  'funds', // the account at the provider has no funds
  'forbidden', // a 403 without a reason
  'region', // the provider does not serve the region of the request
  'model', // the provider does not offer it, or not to this account
  'path', // a 404 without a reason
  'quota', // the rate limit at the provider is reached
  'body', // the provider refuses a field
  'overload', // the provider fails or is overloaded
  'slow', // no response in time
  'dns', // the host name cannot be resolved
  'tls', // no trusted TLS connection
  'address', // no connection
  'broken', // the connection ended before the response
  'answer', // the response is not a model provider's, or cannot be read
  'untried', // the test had no time left, or an earlier request shows that this one would fail too
] as const;

export const sourceTestCall = z.object({
  endpoint: z.enum(ENDPOINTS),
  streamed: z.boolean(),
  finding: z.enum(TEST_FINDINGS),
  /** The finding as text, and what to do. */
  text: z.string(),
  /** The provider's error text without credentials, addresses and IDs. Null: none. */
  providerText: z.string().nullable(),
  /** The provider's status. Null: no response. */
  status: z.int().nullable(),
  /** Tokens that the response reported. */
  usage: tokenUsage.nullable(),
  /** The provider's charge. Null: no usage, or the source has no costs. */
  costUsd: z.string().nullable(),
  /** The charge that the gateway would make. Null: no usage, or the model has no price. */
  priceUsd: z.string().nullable(),
  /** Milliseconds to the response head. Null: no valid response. */
  firstByteMs: z.int().min(0).nullable(),
  /** Milliseconds to the end of the response. */
  totalMs: z.int().min(0),
});
export type SourceTestCall = z.infer<typeof sourceTestCall>;

/** Result of a test that sends one request to each endpoint of a source. */
export const sourceTestView = z.object({
  sourceId: objectId,
  /** The edge that sent the requests. */
  edge: z.string(),
  /** Whether every response was as expected. */
  works: z.boolean(),
  /** Why the edge could not send requests. Null: it sent them. */
  problem: z.string().nullable(),
  calls: z.array(sourceTestCall),
});
export type SourceTestView = z.infer<typeof sourceTestView>;
