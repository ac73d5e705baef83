import { z } from 'zod';
import { tokenUsage } from '../messages/call.js';
import { ENDPOINTS } from '../messages/scalars.js';
import { ATTEMPT_OUTCOMES } from '../messages/usage.js';
import { objectId, time } from './scalars.js';

/** A running call as the limit store has it. */
export const slotView = z.object({
  requestId: z.string(),
  accountId: objectId,
  keyId: objectId,
  memberId: objectId,
  modelId: z.string(),
  /** The edge process that last had it in a heartbeat; null before its first. */
  edge: z.string().nullable(),
  /**
   * `open`: running; `expiring`: its edge is silent; its money is held until that is cleared up.
   */
  state: z.enum(['open', 'expiring']),
  /** Whether it takes a slot of its account. */
  takesSlot: z.boolean(),
  /** What it holds of the account's wallet, decimal string of USD. */
  heldUsd: z.string(),
  admittedAt: time,
  /** When the slot falls free unless its edge heartbeats again; null without a slot. */
  leaseUntil: time.nullable(),
  dueAt: time,
});
export type SlotView = z.infer<typeof slotView>;

/** How attempts at a source went; an edge of the version before tells none. */
const sourceFigures = {
  attempts: z.int().min(0).default(0),
  /**
   * Share of them that the source failed, 0 to 1; what clients caused is not among it. Null: there
   * were no attempts.
   */
  errorShare: z.number().min(0).max(1).nullable().default(null),
  /** Milliseconds to the head of an answer, a moving average; null: there was none. */
  firstByteMs: z.int().min(0).nullable().default(null),
  /** Attempts for which the edge held no share of the source's quotas: nothing else was left. */
  overQuota: z.int().min(0).default(0),
};

const used = z.object({ used: z.int().min(0), allowed: z.int().min(1) }).nullable();
/** How much of a source's quotas all edges use, the last minute's for rates; null: not set. */
export const quotaUse = z.object({ requestsPerMinute: used, callsAtOnce: used, tokensPerMinute: used });
export type QuotaUse = z.infer<typeof quotaUse>;

/** What one edge remembers of one source, and what all edges together do. */
export const sourceHealthView = z.object({
  sourceId: objectId,
  modelId: z.string(),
  /** The edge that says so. */
  edge: z.string(),
  /** `cooling`: rests after a 429; `open`: its breaker is open; both are tried last. */
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
   * As this edge last read it; null: no quota is set, or this edge has not used the source lately.
   */
  quota: quotaUse.nullable().default(null),
  /**
   * Of all edges that reported the source within half a minute; null: a catalog of the version
   * before does not tell.
   */
  together: z
    .object({
      edges: z.int().min(1),
      /** Those at which it rests. */
      resting: z.int().min(0),
      ...sourceFigures,
    })
    .nullable()
    .default(null),
});
export type SourceHealthView = z.infer<typeof sourceHealthView>;

/** What a test call of a source came to. All but `works` say what is wrong. */
export const TEST_FINDINGS = [
  'works',
  'credential', // the provider refuses it, it does not open, or no token could be had
  'funds', // the account at the provider has none
  'forbidden', // a 403 without a reason
  'region', // the provider does not serve the place that the call comes from
  'model', // the provider does not have it, or not for this account
  'path', // a 404 without a reason
  'quota', // the rate at the provider is reached
  'body', // the provider refuses a field
  'overload', // the provider fails
  'slow', // no answer in time
  'dns', // the name of the address leads nowhere
  'tls', // no connection that can be trusted
  'address', // no connection
  'broken', // the connection ended before the answer did
  'answer', // what answers is no provider of models, or answers what cannot be read
  'untried', // the test had no time left, or an earlier call shows that this one would fail too
] as const;

/** One call of a test. */
export const sourceTestCall = z.object({
  endpoint: z.enum(ENDPOINTS),
  streamed: z.boolean(),
  finding: z.enum(TEST_FINDINGS),
  /** The finding in words, and what to do. */
  text: z.string(),
  /** What the provider said, without credentials, addresses and ids; null: nothing. */
  providerText: z.string().nullable(),
  /** The provider's status; null: it gave none. */
  status: z.int().nullable(),
  /** Tokens that the answer reported. */
  usage: tokenUsage.nullable(),
  /** What the provider charges for that; null: no usage, or the source has no costs. */
  costUsd: z.string().nullable(),
  /** What the gateway would have charged; null: no usage, or the model has no price. */
  priceUsd: z.string().nullable(),
  /** Milliseconds to the head of the answer; null: there was none that is an answer. */
  firstByteMs: z.int().min(0).nullable(),
  /** Milliseconds to its end. */
  totalMs: z.int().min(0),
});
export type SourceTestCall = z.infer<typeof sourceTestCall>;

/** What an edge found by calling each endpoint of a source once. */
export const sourceTestView = z.object({
  sourceId: objectId,
  /** The edge that called. */
  edge: z.string(),
  /** Every call was answered as it should be. */
  works: z.boolean(),
  /** Why the edge could call nothing, in words; null: it called. */
  problem: z.string().nullable(),
  calls: z.array(sourceTestCall),
});
export type SourceTestView = z.infer<typeof sourceTestView>;
