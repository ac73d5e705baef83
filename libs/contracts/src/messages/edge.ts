import { z } from 'zod';
import { managementRefusal, sourceTestView } from '../operator/index.js';
import { releaseEntry } from './admission.js';
import { holdFields } from './call.js';
import { managementBy, published, request, stored } from './message.js';
import { bucket, bucketEpoch, count, endpoint, epochMs, objectId, requestId } from './scalars.js';

/** Maximum number of running calls, and of call IDs, in one heartbeat message. */
export const HEARTBEAT_CALLS_MAX = 500;
/** Maximum bytes of a heartbeat message, below the bus limit. Larger ones are sent in chunks. */
export const HEARTBEAT_BYTES_MAX = 768 * 1024;

const bucketEpochs = z.array(z.object({ bucket, epoch: bucketEpoch })).max(256);
export type BucketEpochs = z.infer<typeof bucketEpochs>;

/** A run of Redis: its ID and the time of its newest epoch (docs/protocol.md#r12). */
const redisRun = z.object({ id: z.string().max(64), setAt: epochMs });
export type RedisRun = z.infer<typeof redisRun>;

const heartbeatCall = z.object({ id: requestId, hold: holdFields, callEpoch: bucketEpoch, endpoint });
export type HeartbeatCall = z.infer<typeof heartbeatCall>;

const heartbeatBody = z.object({
  edge: objectId,
  /** The increasing number of the heartbeat. All its chunks have the same one. */
  n: count,
  chunk: count,
  chunks: z.int().min(1),
  /**
   * The last epoch of each bucket that the edge received. A short heartbeat has only the epochs
   * that changed since the last full one.
   */
  epochs: bucketEpochs,
  /** The latest run of Redis that the edge knows. Absent: it knows none. */
  run: redisRun.optional(),
  calls: z.array(heartbeatCall).max(HEARTBEAT_CALLS_MAX),
  releases: z.array(releaseEntry).max(HEARTBEAT_CALLS_MAX),
  /** The edge has stopped: no call runs and all releases are done. */
  last: z.boolean(),
});

const heartbeat = {
  version: 1,
  checkedInPlace: true,
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  stream: 'HEARTBEATS',
} as const;

/**
 * Lists an edge's running calls with their holds, every 30 seconds and on request
 * (docs/protocol.md#r5). The stream keeps the last message of each edge and chunk.
 */
export const edgeHeartbeat = stored({
  ...heartbeat,
  name: 'edge.heartbeat',
  subject: 'edge.heartbeat.{edge}.{chunk}',
  body: heartbeatBody,
});

const heartbeatNames = z.object({
  callEpoch: bucketEpoch,
  accounts: z
    .array(z.object({ account: objectId, ids: z.array(requestId).max(HEARTBEAT_CALLS_MAX) }))
    .max(HEARTBEAT_CALLS_MAX),
});
export type HeartbeatNames = z.infer<typeof heartbeatNames>;

/**
 * Lists the IDs of an edge's running calls every two seconds between full heartbeats, also while it
 * is idle. `calls` has only the calls that no heartbeat has listed yet. The next heartbeat
 * overwrites messages with IDs; each message with calls has its own subject until the next full
 * heartbeat.
 */
export const edgeShortHeartbeat = stored({
  ...heartbeat,
  name: 'edge.heartbeat-short',
  subject: 'edge.heartbeat-short.{edge}.{place}',
  body: heartbeatBody.extend({ names: z.array(heartbeatNames).max(HEARTBEAT_CALLS_MAX) }),
});

/** Responds to a heartbeat. */
export const edgeHeartbeatReply = published({
  name: 'edge.heartbeat-reply',
  subject: 'edge.heartbeat-reply.{edge}',
  checkedInPlace: true,
  sentBy: ['admission'],
  servedBy: ['edge-proxy'],
  reaches: 'all',
  body: z.object({
    n: count,
    chunk: count,
    epochs: bucketEpochs,
    /** Running calls to end: the account was suspended, or an operator released the slot. */
    abort: z.array(requestId),
    /** Releases of the heartbeat that are done. */
    released: z.array(requestId),
    now: epochMs,
    /** A listed call has lost its hold. The edge must send a full heartbeat now. */
    full: z.literal(true).optional(),
  }),
});

/**
 * Requests heartbeats of all edges while admission restores buckets. Other replicas learn the new
 * epochs from it, and a replica connected to a superseded Redis disconnects. Without epochs, the
 * message reports that a replica stops, or the run of Redis that it uses or should use.
 */
export const edgeResyncRequest = published({
  name: 'edge.resync-request',
  sentBy: ['admission'],
  servedBy: ['edge-proxy', 'admission'],
  reaches: 'all',
  body: z.object({
    epochs: bucketEpochs,
    /** The replica that is stopping. Edges send it no more requests by name. */
    stopping: objectId.optional(),
    /**
     * The run of Redis that the replica uses or should use. A replica with a later run replies with
     * that run.
     */
    run: redisRun.extend({ isUsed: z.boolean() }).optional(),
  }),
});

/** Timeout of one source test. Calls that were not tried by then are reported as such. */
export const SOURCE_TEST_MS_MAX = 45_000;

/** The longest wait of a test, of its time, until the edge uses the catalog revision. */
export const SOURCE_TEST_WAIT_MS_MAX = 10_000;

/**
 * Tests a source: the edge sends one request to each endpoint, like a client's, but without
 * admission, charge and usage record. Refused with `not_in_force` if the edge still uses an older
 * catalog than `revision` after {@link SOURCE_TEST_WAIT_MS_MAX}.
 */
export const edgeTestSource = request({
  ...managementBy('edge-proxy'),
  name: 'edge.test-source',
  timeoutMs: SOURCE_TEST_MS_MAX + 5_000,
  body: z.object({ source: objectId, revision: count }),
  answer: z.union([z.object({ test: sourceTestView }), managementRefusal]),
});
