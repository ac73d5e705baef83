import { z } from 'zod';
import { packUsageEvent, packUsageEvents, unpackUsageEvent, unpackUsageEvents } from '../generated/positions.js';
import { holdFields, pricedVersion, servedExtras, tokenUsage } from './call.js';
import { USAGE_GROUPS_TOTAL } from '../ids/index.js';
import { stored, subjectOf } from './message.js';
import { endpoint, epochMs, nanoUsdPositive, objectId, requestId, traceparent } from './scalars.js';

/** Events in one stored message; they also stay below {@link USAGE_MESSAGE_BYTES_MAX}. */
export const USAGE_EVENTS_MAX = 100;
export const USAGE_MESSAGE_BYTES_MAX = 256 * 1024;

/** Names on one event of what was served without a price, and characters of a name. */
export const UNPRICED_NAMES_MAX = 16;
export const UNPRICED_NAME_LENGTH_MAX = 64;

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
  /** Of `usage`. Absent: the standard class, nothing by the piece. */
  served: servedExtras.optional(),
  /** What the provider says that it charges. Absent: its response does not say it. */
  reportedCostNanoUsd: nanoUsdPositive.optional(),
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
  /**
   * What `amountNanoUsd` counts beside `usage`. Absent: the standard class, nothing by the piece.
   */
  served: servedExtras.optional(),
  /**
   * Names of classes, units and kinds of tokens that were served and that the price has no figure
   * for. Absent: none.
   */
  unpriced: z.array(z.string().min(1).max(UNPRICED_NAME_LENGTH_MAX)).min(1).max(UNPRICED_NAMES_MAX).optional(),
});
export type UsageEvent = z.infer<typeof usageEvent>;

/** The text of an event in a packed message. */
export const packedTextOf = (event: UsageEvent): string => JSON.stringify(packUsageEvent(event));

/** Unpacks an event of a message. Checks nothing: null, or an object that may be invalid. */
export function unpackEvent(sent: unknown): unknown {
  if (!Array.isArray(sent)) return null;
  try {
    return unpackUsageEvent(sent);
  } catch {
    return null;
  }
}

/**
 * Events of calls, from edges and from the sweep of admission. Each event can be settled without
 * anything else. The group is that of the account's shard (`usageGroupOfShard`).
 */
export const usageEvents = stored({
  name: 'usage.events',
  subject: 'usage.events.{group}',
  version: 1,
  checkedInPlace: true,
  sentBy: ['edge-proxy', 'admission'],
  servedBy: ['billing'],
  stream: 'USAGE',
  packed: { body: { pack: packUsageEvents, unpack: unpackUsageEvents } },
  body: z.object({ events: z.array(usageEvent).min(1).max(USAGE_EVENTS_MAX) }),
});

/** The subjects of the stream, by the number of their group. */
export function usageSubjects(groups = USAGE_GROUPS_TOTAL): string[] {
  return Array.from({ length: groups }, (_, group) => subjectOf(usageEvents, { group }));
}
