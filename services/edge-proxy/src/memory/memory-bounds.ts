import { field, memoryBound, type ConfigOf } from '@gateway/service-kit';
import { HELD_RESPONSES, HELD_BEGINNINGS, REQUEST_BODIES, UNAUTHENTICATED_BODIES } from './held-bytes.js';

const MEBIBYTE = 1024 * 1024;

/**
 * Defines a byte limit, and its part of a container with too little memory for all limits; see
 * {@link computeMemoryBounds}.
 */
function bytesField(what: string, mebibytes: number, part: number) {
  return field.integer({
    doc: `most bytes of ${what}; ${mebibytes} MiB, or ${part * 100} % of the container's memory if that is less, when not set`,
    min: MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    default: null,
  });
}

/**
 * The default limit of each kind, and its part of the container memory. All parts together are 40
 * %, since streams, code and garbage need the remaining memory.
 */
const KINDS = {
  bodies: { mebibytes: 512, part: 0.2 },
  unauthenticated: { mebibytes: 64, part: 0.04 },
  responses: { mebibytes: 256, part: 0.08 },
  streamBuffers: { mebibytes: 64, part: 0.04 },
  events: { mebibytes: 64, part: 0.04 },
} as const;

type Kind = keyof typeof KINDS;
const kindField = (what: string, kind: Kind) => bytesField(what, KINDS[kind].mebibytes, KINDS[kind].part);

/** Limits for all calls of one edge together. */
export const MEMORY_FIELDS = {
  GATEWAY_EDGE_BODY_BYTES: kindField('request bodies, until no source needs them', 'bodies'),
  GATEWAY_EDGE_UNAUTHENTICATED_BYTES: kindField('bodies whose key admission has not confirmed', 'unauthenticated'),
  GATEWAY_EDGE_RESPONSE_BYTES: kindField('plain responses that are held until they are complete', 'responses'),
  GATEWAY_EDGE_STREAM_BUFFER_BYTES: kindField(
    'stream beginnings without content, which are held back',
    'streamBuffers',
  ),
  GATEWAY_EDGE_EVENT_BYTES: kindField(
    'usage events that are not stored yet; above it no request is admitted',
    'events',
  ),
} as const;

/** Limits in bytes. */
export type MemoryBounds = Readonly<Record<Kind, number>>;

/** @param container memory of the container in bytes; undefined if it has no limit */
export function computeMemoryBounds(
  config: ConfigOf<typeof MEMORY_FIELDS>,
  container: number | undefined,
): MemoryBounds {
  const boundOf = (configured: number | null, kind: Kind): number => {
    const { mebibytes, part } = KINDS[kind];
    return configured ?? memoryBound(mebibytes * MEBIBYTE, part, container);
  };
  return {
    bodies: boundOf(config.GATEWAY_EDGE_BODY_BYTES, 'bodies'),
    unauthenticated: boundOf(config.GATEWAY_EDGE_UNAUTHENTICATED_BYTES, 'unauthenticated'),
    responses: boundOf(config.GATEWAY_EDGE_RESPONSE_BYTES, 'responses'),
    streamBuffers: boundOf(config.GATEWAY_EDGE_STREAM_BUFFER_BYTES, 'streamBuffers'),
    events: boundOf(config.GATEWAY_EDGE_EVENT_BYTES, 'events'),
  };
}

/** Sets the limits of this process. */
export function setMemoryBounds({ bodies, unauthenticated, responses, streamBuffers }: MemoryBounds): void {
  REQUEST_BODIES.bytesMax = bodies;
  UNAUTHENTICATED_BODIES.bytesMax = unauthenticated;
  HELD_RESPONSES.bytesMax = responses;
  HELD_BEGINNINGS.bytesMax = streamBuffers;
}
