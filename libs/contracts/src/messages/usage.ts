import { z } from 'zod';
import { holdFields, pricedVersion, tokenUsage } from './call.js';
import { stored } from './message.js';
import { endpoint, epochMs, nanoUsdPositive, objectId, requestId, traceparent } from './scalars.js';

/** Events in one stored message; they also stay below {@link USAGE_MESSAGE_BYTES_MAX}. */
export const USAGE_EVENTS_MAX = 100;
export const USAGE_MESSAGE_BYTES_MAX = 256 * 1024;

/** How one try of one source ended. */
export const ATTEMPT_OUTCOMES = [
  'completed', // a complete answer
  'rejected', // a final or failed-over status
  'unreachable', // refused, DNS, TLS, connect time-out: nothing was sent
  'timed_out', // a limit on headers, first event, silence or the deadline
  'broken', // the connection ended before the answer did
  'abandoned', // the client left
] as const;

export const attemptRecord = z.object({
  source: objectId,
  provider: objectId,
  outcome: z.enum(ATTEMPT_OUTCOMES),
  status: z.int().min(100).max(599).nullable(),
  /** The provider may charge for it although no complete answer came. */
  possiblyPaid: z.boolean(),
  usage: tokenUsage.nullable(),
  cost: pricedVersion.nullable(),
});
export type AttemptRecord = z.infer<typeof attemptRecord>;

/**
 * The one record of a dispatched call, self-contained. Rank 2 comes from an edge (settled, voided),
 * rank 1 from the sweeper (expired); a higher rank wins (docs/protocol.md#r7).
 */
export const usageEvent = z.object({
  id: requestId,
  rank: z.union([z.literal(1), z.literal(2)]),
  outcome: z.enum(['settled', 'voided', 'expired']),
  /** Account, key, member, model, funding and periods as fixed at admission. */
  hold: holdFields,
  endpoint: endpoint.nullable(),
  streamed: z.boolean(),
  startedAt: epochMs,
  endedAt: epochMs,
  /** First byte of the answer to the client, null if there was none. */
  firstByteAt: epochMs.nullable(),
  /** The status that the client got, null if it got none. */
  status: z.int().min(100).max(599).nullable(),
  source: objectId.nullable(),
  usage: tokenUsage.nullable(),
  evidence: z.enum(['reported', 'estimated', 'none']),
  /** Null only on an expired call: the sweeper charges nothing and has no figures. */
  price: pricedVersion.nullable(),
  amountNanoUsd: nanoUsdPositive,
  attempts: z.array(attemptRecord).max(16),
  traceparent,
});
export type UsageEvent = z.infer<typeof usageEvent>;

/**
 * Events of accounts of any shard. The subject's number is that of a group of shards
 * (`usageGroupOfShard`); it spreads the messages over workers of billing and says nothing about
 * their accounts.
 */
export const usageRecorded = stored({
  name: 'usage.recorded',
  subject: 'usage.recorded.{shard}',
  version: 1,
  checkedInPlace: true,
  sentBy: ['edge-proxy', 'admission'],
  servedBy: ['billing'],
  stream: 'USAGE',
  body: z.object({ events: z.array(usageEvent).min(1).max(USAGE_EVENTS_MAX) }),
});
