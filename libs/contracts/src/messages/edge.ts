import { z } from 'zod';
import { managementRefusal, sourceTestView } from '../operator/index.js';
import { releaseEntry } from './admission.js';
import { holdFields } from './call.js';
import { managementBy } from './management.js';
import { published, request, stored } from './message.js';
import { bucket, count, endpoint, epochMs, bucketEpoch, objectId, requestId } from './scalars.js';

/** Running calls that one heartbeat message lists, and that it names. */
export const HEARTBEAT_CALLS_MAX = 500;
/**
 * Bytes of one heartbeat message, below the limit of the bus. A larger heartbeat is sent in chunks.
 */
export const HEARTBEAT_BYTES_MAX = 768 * 1024;

const bucketEpochs = z.array(z.object({ bucket, token: bucketEpoch })).max(256);
export type BucketEpochs = z.infer<typeof bucketEpochs>;

/** A run of Redis, by its id and the time of its newest epoch (docs/protocol.md#r12). */
const redisRun = z.object({ id: z.string().max(64), setAt: epochMs });
export type RedisRun = z.infer<typeof redisRun>;

const heartbeatCall = z.object({ id: requestId, hold: holdFields, tag: bucketEpoch, endpoint });
export type HeartbeatCall = z.infer<typeof heartbeatCall>;

const heartbeatBody = z.object({
  edge: objectId,
  /** The growing number of the heartbeat, the same in all its chunks. */
  n: count,
  chunk: count,
  chunks: z.int().min(1),
  /**
   * The last epoch of each bucket that the edge received. In a short heartbeat: of the buckets that
   * have another one than in the last full heartbeat.
   */
  tokens: bucketEpochs,
  /** The latest run of Redis that the edge knows; absent: none, or it is of an older release. */
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
  stream: 'BEATS',
} as const;

/**
 * An edge lists its running calls with all that holds them, every 30 seconds and on request
 * (docs/protocol.md#r5). The stream keeps the last message of each edge and chunk.
 */
export const edgeHeartbeat = stored({
  ...heartbeat,
  name: 'edge.beat',
  subject: 'edge.beat.{edge}.{chunk}',
  body: heartbeatBody,
});

const heartbeatNames = z.object({
  tag: bucketEpoch,
  accounts: z
    .array(z.object({ account: objectId, ids: z.array(requestId).max(HEARTBEAT_CALLS_MAX) }))
    .max(HEARTBEAT_CALLS_MAX),
});
export type HeartbeatNames = z.infer<typeof heartbeatNames>;

/**
 * Between two full heartbeats an edge names every two seconds, also when it is idle, the running
 * calls that it has listed since the last full one; only new ones stand in `calls`. Messages with
 * names have a place that the next heartbeat takes; each with calls has its own until the next full
 * one.
 */
export const edgeShortHeartbeat = stored({
  ...heartbeat,
  name: 'edge.beat-short',
  subject: 'edge.beat-short.{edge}.{place}',
  body: heartbeatBody.extend({ names: z.array(heartbeatNames).max(HEARTBEAT_CALLS_MAX) }),
});

/** Admission answers a heartbeat. */
export const edgeHeartbeatReply = published({
  name: 'edge.verdict',
  subject: 'edge.verdict.{edge}',
  version: 1,
  checkedInPlace: true,
  sentBy: ['admission'],
  servedBy: ['edge-proxy'],
  reaches: 'all',
  body: z.object({
    n: count,
    chunk: count,
    tokens: bucketEpochs,
    /** Running calls that shall be ended (account suspended, slot taken back by an operator). */
    abort: z.array(requestId),
    /** Releases of the heartbeat that are done. */
    released: z.array(requestId),
    now: epochMs,
    /** A named call has lost its hold: the edge shall send a full heartbeat now. */
    full: z.literal(true).optional(),
  }),
});

/**
 * Admission asks all edges for a heartbeat at once while it restores buckets. Other replicas hear
 * of the new epochs too: one that is connected to a superseded Redis gives it up. Without epochs it
 * says one thing of a replica: that it stops, or which run of Redis it uses or is led to.
 */
export const edgeResyncRequest = published({
  name: 'edge.report',
  subject: 'edge.report',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['edge-proxy', 'admission'],
  reaches: 'all',
  body: z.object({
    tokens: bucketEpochs,
    /** The replica that stops now. Edges send it no more requests by name. */
    left: objectId.optional(),
    /**
     * The run of Redis that the replica uses, or is led to. One that uses a later run answers with
     * that.
     */
    run: redisRun.extend({ isUsed: z.boolean() }).optional(),
  }),
});

/** One test of a source takes so long at most; what was not tried by then is answered so. */
export const SOURCE_TEST_MS_MAX = 45_000;

/**
 * An edge calls each endpoint of a source once, as a call of a client would, for nobody: without
 * admission, charge and record.
 */
export const edgeTestSource = request({
  ...managementBy('edge-proxy'),
  name: 'edge.test-source',
  subject: 'edge.test-source',
  timeoutMs: SOURCE_TEST_MS_MAX + 5_000,
  body: z.object({ source: objectId }),
  answer: z.union([z.object({ test: sourceTestView }), managementRefusal]),
});
