import { field, type ConfigOf, type HttpBounds } from '@gateway/service-kit';

const KIBIBYTE = 1024;
const PROXIES_MAX = 8;

/** Limits of the public listener, for one client or all clients together. */
export const HTTP_FIELDS = {
  GATEWAY_EDGE_PROXIES: field.integer({
    doc: 'number of trusted proxies before the edge that append to X-Forwarded-For; above 0, per-client limits use the address that they report, and connections have no per-client limit',
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
    doc: 'longest time for a whole request, including 10 MB over a slow connection',
    default: 300_000,
  }),
  GATEWAY_HTTP_BODY_IDLE_MS: field.durationMs({
    doc: 'longest time without a byte of a request body; after it the request is ended',
    default: 60_000,
  }),
  GATEWAY_HTTP_BODY_RATE: field.integer({
    doc: 'lowest average rate of a request body in bytes per second, checked after its first 10 s',
    min: 1,
    max: 1_024 * KIBIBYTE,
    default: KIBIBYTE,
  }),
  GATEWAY_HTTP_KEEP_ALIVE_MS: field.durationMs({
    doc: 'how long an idle connection is kept; must be longer than the idle timeout of a load balancer in front',
    default: 75_000,
  }),
  GATEWAY_HTTP_STALLED_MS: field.durationMs({
    doc: 'longest time without reading by a client that has bytes of its response to read; then it is cut off, and billed like one that disconnects',
    default: 60_000,
  }),
  GATEWAY_HTTP_CONNECTIONS: field.integer({
    doc: 'most client connections at one time; further ones are closed immediately',
    min: 1,
    max: 1_000_000,
    default: 16_384,
  }),
  GATEWAY_HTTP_CONNECTIONS_PER_CLIENT: field.integer({
    doc: 'most connections of one client network at one time, if GATEWAY_EDGE_PROXIES is 0; further ones are closed immediately',
    min: 1,
    max: 1_000_000,
    default: 8_192,
  }),
  GATEWAY_HTTP_PIPELINED: field.integer({
    doc: 'most requests on one connection without a complete response; a connection with more is closed',
    min: 1,
    max: 1_000,
    default: 16,
  }),
} as const;

/** Limits of the public listener. */
export interface HttpLimits extends HttpBounds {
  /** Number of trusted proxies before the edge. */
  readonly proxies: number;
  /** Longest time without a byte of a body. */
  readonly bodyIdleMsMax: number;
  readonly bodyBytesPerSecondMin: number;
  /** Longest time without reading by the client of an ended response. */
  readonly stalledMs: number;
  /** Most connections of one client network. Not applied behind proxies. */
  readonly clientConnectionsMax: number;
  /** Most requests on one connection without a complete response. */
  readonly pipelinedMax: number;
}

export function readHttpLimits(config: ConfigOf<typeof HTTP_FIELDS>): HttpLimits {
  return {
    proxies: config.GATEWAY_EDGE_PROXIES,
    headBytesMax: config.GATEWAY_HTTP_HEAD_BYTES,
    headersMax: config.GATEWAY_HTTP_HEADERS,
    headMsMax: config.GATEWAY_HTTP_HEAD_MS,
    // Node rejects a head timeout that is longer than the request timeout.
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
