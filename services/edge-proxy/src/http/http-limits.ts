import { field, type ConfigOf, type HttpBounds } from '@gateway/service-kit';

const KIBIBYTE = 1024;
const PROXIES_MAX = 8;

/** What one client, or all of them together, may take of the public listener. */
export const HTTP_FIELDS = {
  GATEWAY_EDGE_PROXIES: field.integer({
    doc: 'proxies before the edge that append to X-Forwarded-For: bounds by client go by the address before them, and connections are not bounded by client',
    min: 0,
    max: PROXIES_MAX,
    default: 0,
  }),
  GATEWAY_HTTP_HEAD_BYTES: field.integer({
    doc: 'largest head of a request in bytes, request line and headers together',
    min: 4 * KIBIBYTE,
    max: 1_024 * KIBIBYTE,
    default: 32 * KIBIBYTE,
  }),
  GATEWAY_HTTP_HEADERS: field.integer({ doc: 'most headers of a request', min: 20, max: 2_000, default: 200 }),
  GATEWAY_HTTP_HEAD_MS: field.durationMs({
    doc: 'longest time from the beginning of a connection or request to the end of its head',
    default: 12_000,
  }),
  GATEWAY_HTTP_REQUEST_MS: field.durationMs({
    doc: 'longest time for a whole request, 10 MB over a slow line included',
    default: 300_000,
  }),
  GATEWAY_HTTP_BODY_IDLE_MS: field.durationMs({
    doc: 'a request of whose body no byte comes for so long is ended',
    default: 60_000,
  }),
  GATEWAY_HTTP_BODY_RATE: field.integer({
    doc: 'least bytes a second at which a body must come after its first 10 s, on average',
    min: 1,
    max: 1_024 * KIBIBYTE,
    default: KIBIBYTE,
  }),
  GATEWAY_HTTP_KEEP_ALIVE_MS: field.durationMs({
    doc: 'how long an idle connection is kept: longer than the load balancer in front keeps it',
    default: 75_000,
  }),
  GATEWAY_HTTP_STALLED_MS: field.durationMs({
    doc: 'a client that takes no byte of what is written to it for so long is cut off; it pays like one that leaves',
    default: 60_000,
  }),
  GATEWAY_HTTP_CONNECTIONS: field.integer({
    doc: 'most connections of clients at one time; one above is closed at once',
    min: 1,
    max: 1_000_000,
    default: 16_384,
  }),
  GATEWAY_HTTP_CONNECTIONS_PER_CLIENT: field.integer({
    doc: 'most connections of one client network at one time, where GATEWAY_EDGE_PROXIES is 0; one above is closed at once',
    min: 1,
    max: 1_000_000,
    default: 8_192,
  }),
  GATEWAY_HTTP_PIPELINED: field.integer({
    doc: 'most requests of one connection that wait for their answers; a connection with more is closed',
    min: 1,
    max: 1_000,
    default: 16,
  }),
} as const;

/** Limits of the public listener. */
export interface HttpLimits extends HttpBounds {
  /** Trusted proxies before the edge. */
  readonly proxies: number;
  /** Longest time without a byte of a body. */
  readonly bodyIdleMsMax: number;
  readonly bodyBytesPerSecondMin: number;
  /** Longest time in which a client takes no byte of an ended answer. */
  readonly stalledMs: number;
  /** Of one client network; not behind proxies. */
  readonly clientConnectionsMax: number;
  /** Requests of one connection without a complete answer. */
  readonly pipelinedMax: number;
}

export function httpLimitsOf(config: ConfigOf<typeof HTTP_FIELDS>): HttpLimits {
  return {
    proxies: config.GATEWAY_EDGE_PROXIES,
    headBytesMax: config.GATEWAY_HTTP_HEAD_BYTES,
    headersMax: config.GATEWAY_HTTP_HEADERS,
    headMsMax: config.GATEWAY_HTTP_HEAD_MS,
    // node refuses a time for the head that is longer than the one for the whole request.
    requestMsMax: Math.max(config.GATEWAY_HTTP_REQUEST_MS, config.GATEWAY_HTTP_HEAD_MS),
    bodyIdleMsMax: config.GATEWAY_HTTP_BODY_IDLE_MS,
    bodyBytesPerSecondMin: config.GATEWAY_HTTP_BODY_RATE,
    stalledMs: config.GATEWAY_HTTP_STALLED_MS,
    keepAliveMs: config.GATEWAY_HTTP_KEEP_ALIVE_MS,
    connectionsMax: config.GATEWAY_HTTP_CONNECTIONS,
    clientConnectionsMax: config.GATEWAY_HTTP_CONNECTIONS_PER_CLIENT,
    pipelinedMax: config.GATEWAY_HTTP_PIPELINED,
  };
}
