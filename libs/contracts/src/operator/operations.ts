import { z } from 'zod';
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
};

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
