import type { ErrorContext } from '@gateway/contracts/errors';
import { DEFAULT_KEY_PREFIX } from '@gateway/contracts/ids';
import { RESPONSE_IDS_BUCKET } from '@gateway/contracts/messages';
import {
  COMMON_FIELDS,
  type ConfigOf,
  type OpeningKeys,
  type ServiceConfig,
  field,
  isLoopback,
  portField,
} from '@gateway/service-kit';
import type { UpstreamProxy } from './upstream/source-connector.js';
import type { EdgeSettings } from './call/call.js';
import { UNKNOWN_KEY_FIELDS } from './call/admit/key-lookup.js';
import { HTTP_FIELDS } from './http/http-limits.js';
import { LOAD_FIELDS } from './load/watch-load.js';
import { MEMORY_FIELDS } from './memory/memory-bounds.js';

/**
 * Environment variables of the edge. By default it listens on all addresses of its host, because it
 * is the only service for external clients.
 */
export const EDGE_FIELDS = {
  GATEWAY_HOST: field.string({ doc: 'address on which the public port listens', default: '0.0.0.0' }),
  GATEWAY_PORT: portField('public port of the gateway', 8_080),
  GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL,
  GATEWAY_STREAM_REPLICAS: COMMON_FIELDS.GATEWAY_STREAM_REPLICAS,
  GATEWAY_PUBLIC_URL: COMMON_FIELDS.GATEWAY_PUBLIC_URL,
  GATEWAY_BILLING_LINK_URL: COMMON_FIELDS.GATEWAY_BILLING_LINK_URL,
  GATEWAY_DASHBOARD_URL: field.url({
    doc: 'address of the dashboard: its billing page is the link to billing when GATEWAY_BILLING_LINK_URL is not set',
    schemes: ['http', 'https'],
    default: null,
  }),
  GATEWAY_KEY_PREFIXES: COMMON_FIELDS.GATEWAY_KEY_PREFIXES,
  GATEWAY_KEY_PEPPER: COMMON_FIELDS.GATEWAY_KEY_PEPPER,
  GATEWAY_SOURCE_PRIVATE_KEY: COMMON_FIELDS.GATEWAY_SOURCE_PRIVATE_KEY,
  GATEWAY_MESSAGES_ENABLED: COMMON_FIELDS.GATEWAY_MESSAGES_ENABLED,
  GATEWAY_ALLOW_PRIVATE_SOURCES: COMMON_FIELDS.GATEWAY_ALLOW_PRIVATE_SOURCES,
  GATEWAY_UPSTREAM_PROXY_URL: field.secretUrl({
    doc: 'HTTP proxy for connections to providers (CONNECT), with user and password if required; the proxy itself must refuse private addresses',
    schemes: ['http', 'https'],
    optional: true,
  }),
  GATEWAY_UPSTREAM_PROXY_EXCEPTIONS: field.list({
    doc: 'provider hosts that are reached without the proxy; a name that begins with a dot includes all subdomains',
    pattern: /^\.?[a-z0-9[][a-z0-9.:\-\]]*$/,
    patternText: 'a host name, or a dot and a domain',
    default: [],
  }),
  GATEWAY_CLOUD_CREDENTIALS: field.list({
    doc: "clouds whose credentials from this process's environment (role, workload identity, metadata server, variables and files) are used for sources without their own credential: aws, google, entra; none when not set",
    pattern: /^(aws|google|entra)$/,
    patternText: 'aws, google or entra',
    default: [],
  }),
  GATEWAY_HEARTBEAT_MS: COMMON_FIELDS.GATEWAY_HEARTBEAT_MS,
  GATEWAY_READ_AFTER_DISCONNECT_MS: COMMON_FIELDS.GATEWAY_READ_AFTER_DISCONNECT_MS,
  GATEWAY_DRAIN_MS: COMMON_FIELDS.GATEWAY_DRAIN_MS,
  GATEWAY_USAGE_SPOOL_DIRECTORY: field.string({
    doc: 'persistent directory for usage events that NATS has not stored by the end of a stop; another edge with this directory stores them within a minute; not set: they are written to the log, for npm run replay-usage -w services/edge-proxy',
    default: null,
  }),
  GATEWAY_STORED_RESPONSE_IDS_MAX: field.integer({
    doc: 'IDs of stored responses, items and containers that NATS keeps, each for 30 days; one needs about 100 bytes of disk and 400 bytes of memory on each NATS server; a full store accepts no new IDs; set the same value for all edges',
    default: RESPONSE_IDS_BUCKET.entriesDefault,
    min: 1_000,
    max: 1_000_000_000,
  }),
  GATEWAY_UPSTREAM_DEADLINE_MS: COMMON_FIELDS.GATEWAY_UPSTREAM_DEADLINE_MS,
  GATEWAY_TRUST_CLIENT_TRACES: field.boolean({
    doc: "accepts trace IDs and the sampled flag from clients' traceparent; when not set, if GATEWAY_EDGE_PROXIES is above 0",
    default: null,
  }),
  ...HTTP_FIELDS,
  ...UNKNOWN_KEY_FIELDS,
  ...LOAD_FIELDS,
  ...MEMORY_FIELDS,
} as const;

export type EdgeConfig = ConfigOf<typeof EDGE_FIELDS>;

/** A third of admission's default lease (docs/protocol.md#r5). */
const HEARTBEAT_MS_MAX = 10_000;

/** Returns invalid values and combinations. Each problem begins with the name of a variable. */
export function checkConfig(
  config: Pick<ServiceConfig<typeof EDGE_FIELDS>, 'GATEWAY_HEARTBEAT_MS' | 'GATEWAY_HOST' | 'GATEWAY_TEST_CONTROLS'>,
): string[] {
  const problems: string[] = [];
  if (config.GATEWAY_TEST_CONTROLS && !isLoopback(config.GATEWAY_HOST)) {
    problems.push('GATEWAY_TEST_CONTROLS can be on only while GATEWAY_HOST is a loopback address');
  }
  if (config.GATEWAY_HEARTBEAT_MS > HEARTBEAT_MS_MAX) {
    problems.push(
      `GATEWAY_HEARTBEAT_MS must not be above ${HEARTBEAT_MS_MAX}: otherwise slots of running calls would expire`,
    );
  }
  return problems;
}

/** The keys that decrypt the credentials of sources. */
export function readDecryptionKeys(config: EdgeConfig): OpeningKeys {
  return { privateKey: config.GATEWAY_SOURCE_PRIVATE_KEY };
}

/** The proxy to providers; null: direct connections. */
export function readProxy(config: EdgeConfig): UpstreamProxy | null {
  const url = config.GATEWAY_UPSTREAM_PROXY_URL;
  if (url === null) return null;
  return { url: new URL(url.reveal()), exceptions: config.GATEWAY_UPSTREAM_PROXY_EXCEPTIONS };
}

/** The settings that the edge's functions read from the configuration. */
export function readSettings(config: EdgeConfig, traceRatio: number): EdgeSettings {
  const publicUrl = config.GATEWAY_PUBLIC_URL.replace(/(?<!\/)\/+$/, '');
  const errors: ErrorContext = {
    billingLinkUrl: config.GATEWAY_BILLING_LINK_URL ?? buildBillingUrl(config.GATEWAY_DASHBOARD_URL) ?? publicUrl,
    chatBaseUrl: `${publicUrl}/v1`,
    messagesBaseUrl: publicUrl,
  };
  return {
    errors,
    keyPrefixes: config.GATEWAY_KEY_PREFIXES ?? [DEFAULT_KEY_PREFIX],
    pepper: config.GATEWAY_KEY_PEPPER,
    messagesEnabled: config.GATEWAY_MESSAGES_ENABLED,
    traceRatio,
    trustsClientTraces: config.GATEWAY_TRUST_CLIENT_TRACES ?? config.GATEWAY_EDGE_PROXIES > 0,
    upstreamDeadlineMs: config.GATEWAY_UPSTREAM_DEADLINE_MS,
    readAfterDisconnectMs: config.GATEWAY_READ_AFTER_DISCONNECT_MS,
    stalledMs: config.GATEWAY_HTTP_STALLED_MS,
  };
}

function buildBillingUrl(dashboardUrl: string | null): string | null {
  return dashboardUrl === null ? null : `${dashboardUrl.replace(/(?<!\/)\/+$/, '')}/billing`;
}
