import { z } from 'zod';
import { releaseEntry } from './admission.js';
import { holdFields } from './call.js';
import { published, stored } from './message.js';
import { bucket, count, endpoint, epochMs, gateToken, objectId, requestId } from './scalars.js';

/** Running calls in one beat message. */
export const BEAT_CALLS_MAX = 500;
/** Bytes of one beat message, below what the bus takes; calls and releases of one beat go in parts of their own. */
export const BEAT_BYTES_MAX = 768 * 1024;

const bucketTokens = z.array(z.object({ bucket, token: gateToken })).max(256);
export type BucketTokens = z.infer<typeof bucketTokens>;

const beatCall = z.object({ id: requestId, hold: holdFields, tag: gateToken, endpoint });
export type BeatCall = z.infer<typeof beatCall>;

/** What an edge has running, every two seconds, also when idle: the last one per edge and chunk is kept. */
export const edgeBeat = stored({
  name: 'edge.beat',
  subject: 'edge.beat.{edge}.{chunk}',
  version: 1,
  checkedInPlace: true,
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  stream: 'BEATS',
  body: z.object({
    edge: objectId,
    /** Number of the beat, growing; all chunks of one beat have it. */
    n: count,
    chunk: count,
    chunks: z.int().min(1),
    /** Gate tokens that the edge last heard, per bucket. */
    tokens: bucketTokens,
    calls: z.array(beatCall).max(BEAT_CALLS_MAX),
    releases: z.array(releaseEntry).max(BEAT_CALLS_MAX),
    /** The edge has stopped for good: nothing of it runs, nothing is unreleased. */
    last: z.boolean(),
  }),
});

/** What admission says to a beat. */
export const edgeVerdict = published({
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
    tokens: bucketTokens,
    /** Running calls that shall be ended (account suspended, slot taken back by an operator). */
    abort: z.array(requestId),
    /** Releases of the beat that are done with. */
    released: z.array(requestId),
    now: epochMs,
  }),
});

/**
 * Asks every edge for a beat at once, while buckets are being restored; or tells that a replica of admission leaves, with no
 * tokens.
 */
export const edgeReport = published({
  name: 'edge.report',
  subject: 'edge.report',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['edge-proxy'],
  reaches: 'all',
  body: z.object({
    tokens: bucketTokens,
    /** The replica that stops now: it is not to be asked by name any more. */
    left: objectId.optional(),
  }),
});
