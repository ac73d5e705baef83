import { z } from 'zod';
import { packUsageEvent, packUsageEvents, unpackUsageEvent, unpackUsageEvents } from '../generated/positions.js';
import { holdFields, pricedVersion, servedExtras, tokenUsage } from './call.js';
import { USAGE_GROUPS_TOTAL } from '../ids/index.js';
import { stored, fillSubject } from './message.js';
import { endpoint, epochMs, nanoUsdPositive, objectId, requestId, traceparent } from './scalars.js';

/**
 * Maximum number of events in one stored message. Messages also stay below {@link
 * USAGE_MESSAGE_BYTES_MAX}.
 */
export const USAGE_EVENTS_MAX = 100;
export const USAGE_MESSAGE_BYTES_MAX = 256 * 1024;

/** Maximum number of names in `unpriced` of an event, and maximum characters of a name. */
export const UNPRICED_NAMES_MAX = 16;
export const UNPRICED_NAME_LENGTH_MAX = 64;

/** Outcomes of one attempt at one source. */
export const ATTEMPT_OUTCOMES = [
  'completed', // a complete response
  'rejected', // an error status, final or failed over
  'unreachable', // refused, DNS, TLS, connect timeout: nothing was sent
  'timed_out', // a timeout of headers, first event or silence, or the deadline
  'broken', // the connection ended before the response
  'abandoned', // the client disconnected
] as const;

export const attemptRecord = z.object({
  source: objectId,
  provider: objectId,
  outcome: z.enum(ATTEMPT_OUTCOMES),
  status: z.int().min(100).max(599).nullable(),
  /** The provider may charge for it although the response is incomplete. */
  possiblyPaid: z.boolean(),
  usage: tokenUsage.nullable(),
  cost: pricedVersion.nullable(),
  /** Class and units of `usage`. Absent: the standard class without units. */
  served: servedExtras.optional(),
  /** The charge that the provider reported. Absent: its response has none. */
  reportedCostNanoUsd: nanoUsdPositive.optional(),
});
export type AttemptRecord = z.infer<typeof attemptRecord>;

/**
 * The complete and only event of a dispatched call. Edges send rank 2 (settled, voided), and the
 * sweep sends rank 1 (expired). The higher rank wins (docs/protocol.md#r7).
 */
export const usageEvent = z.object({
  id: requestId,
  rank: z.union([z.literal(1), z.literal(2)]),
  outcome: z.enum(['settled', 'voided', 'expired']),
  /** Account, key, member, model, funding and periods, fixed at admission. */
  hold: holdFields,
  endpoint: endpoint.nullable(),
  streamed: z.boolean(),
  startedAt: epochMs,
  endedAt: epochMs,
  /** Time of the first byte to the client. Null: no byte was sent. */
  firstByteAt: epochMs.nullable(),
  /** The status that the client got. Null: it got none. */
  status: z.int().min(100).max(599).nullable(),
  source: objectId.nullable(),
  usage: tokenUsage.nullable(),
  evidence: z.enum(['reported', 'estimated', 'none']),
  /** Null only for an expired call: the sweep charges nothing and has no prices. */
  price: pricedVersion.nullable(),
  amountNanoUsd: nanoUsdPositive,
  attempts: z.array(attemptRecord).max(16),
  traceparent,
  /**
   * Class and units that `amountNanoUsd` includes in addition to `usage`. Absent: the standard
   * class without units.
   */
  served: servedExtras.optional(),
  /** Names of classes, units and token kinds that were served without a price. Absent: none. */
  unpriced: z.array(z.string().min(1).max(UNPRICED_NAME_LENGTH_MAX)).min(1).max(UNPRICED_NAMES_MAX).optional(),
});
export type UsageEvent = z.infer<typeof usageEvent>;

/** Formats an event as the text that a packed message has. */
export const formatPackedEvent = (event: UsageEvent): string => JSON.stringify(packUsageEvent(event));

/** Unpacks an event without validation. Returns null or an object that may be invalid. */
export function unpackEvent(sent: unknown): unknown {
  if (!Array.isArray(sent)) return null;
  try {
    return unpackUsageEvent(sent);
  } catch {
    return null;
  }
}

/**
 * Usage events of calls, from edges and from admission's sweep. Each event can be settled without
 * other data. The group is that of the account's shard (`usageGroupOfShard`).
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

/** Returns the subjects of the stream, by group number. */
export function usageSubjects(groups = USAGE_GROUPS_TOTAL): string[] {
  return Array.from({ length: groups }, (_, group) => fillSubject(usageEvents, { group }));
}
