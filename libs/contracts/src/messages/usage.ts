import { z } from 'zod';
import { packUsageEvent, packUsageEvents, unpackUsageEvent, unpackUsageEvents } from '../generated/positions.js';
import { ATTEMPT_OUTCOMES, holdFields, pricedVersion, servedExtras, tokenUsage } from './call.js';
import { USAGE_GROUPS_TOTAL } from '../ids/index.js';
import { stored, fillSubject } from './message.js';
import { epochMs, nanoUsdPositive, objectId, requestId, traceparent } from './scalars.js';
import { directEventFields } from './usage-record.js';

/**
 * Maximum number of events in one stored message. Messages also stay below {@link
 * USAGE_MESSAGE_BYTES_MAX}.
 */
export const USAGE_EVENTS_MAX = 100;
export const USAGE_MESSAGE_BYTES_MAX = 256 * 1024;

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

/** Columns with a position in the packed event between other fields. New columns come last. */
const { endpoint, streamed, status, ...otherColumns } = directEventFields;

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
  endpoint,
  streamed,
  startedAt: epochMs,
  endedAt: epochMs,
  /** Time of the first byte to the client. Null: no byte was sent. */
  firstByteAt: epochMs.nullable(),
  status,
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
  ...otherColumns,
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
