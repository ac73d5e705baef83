import { field } from './field.js';

const PORT_MAX = 65_535;
const PEPPER_BYTES_MIN = 32;
const TOKEN_BYTES_MIN = 24;
const SEALING_KEY_BYTES = 32;
const MEBIBYTE = 1024 * 1024;

/** Creates the field of a port. The value 0 selects a free port. */
export function portField(doc: string, port: number) {
  return field.integer({ doc: `${doc}; 0 selects a free one`, min: 0, max: PORT_MAX, default: port });
}

/**
 * Variables of more than one program, so that each has one name, one default and one description. A
 * service picks the variables that it needs.
 */
export const COMMON_FIELDS = {
  GATEWAY_LOG_LEVEL: field.choice({
    doc: 'minimum severity of log lines',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
  }),
  GATEWAY_ADMIN_PORT: portField('port of /healthz, /readyz and /metrics', 9_090),
  GATEWAY_ADMIN_HOST: field.string({ doc: 'listen address of the admin port', default: '127.0.0.1' }),
  GATEWAY_REPLICA: field.string({
    doc: 'name of this replica in logs, metrics and subjects; 8 random hex digits if not set',
    pattern: /^[A-Za-z0-9_-]{1,64}$/,
    patternText: '1 to 64 letters, digits, _ or -',
    default: null,
  }),
  GATEWAY_TEST_CONTROLS: field.boolean({
    doc: 'enables test controls (a shifted clock, long timeouts); requires listeners on loopback addresses',
    default: false,
  }),
  GATEWAY_TIMEOUT_MIN_MS: field.integer({
    doc: 'shortest timeout for other services and servers; only with GATEWAY_TEST_CONTROLS',
    min: 0,
    max: 600_000,
    default: 0,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: field.url({
    doc: 'OTLP/HTTP collector for traces; no tracing if not set',
    schemes: ['http', 'https'],
    default: null,
  }),
  GATEWAY_TRACE_RATIO: field.number({
    doc: 'share of traced requests, 0 to 1; requests with a sampled traceparent are always traced',
    min: 0,
    max: 1,
    default: 0,
  }),

  GATEWAY_NATS_URL: field.secretUrl({
    doc: 'NATS server or servers (nats://user:password@a:4222,b:4222), with user and password of this service, or its credentials file (nats://a:4222,b:4222?credentials=FILE)',
    schemes: ['nats', 'tls'],
  }),
  GATEWAY_USAGE_STREAM_BYTES: field.integer({
    doc: 'maximum size of the usage event stream; a full stream stops new requests',
    min: 16 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    default: 4_096 * MEBIBYTE,
  }),
  GATEWAY_STREAM_REPLICAS: field.integer({
    doc: 'replicas of each stream and of the published catalog: 1 on a single NATS server, 3 in a cluster',
    min: 1,
    max: 5,
    default: 1,
  }),
  GATEWAY_POSTGRES_URL: field.secretUrl({
    doc: "PostgreSQL database with this service's own role; with several servers (postgres://user:password@a:5432,b:5432/db) the service uses the primary",
    schemes: ['postgres', 'postgresql'],
  }),
  GATEWAY_MIGRATION_URL: field.secretUrl({
    doc: 'PostgreSQL database with a role that may create schemas and roles; only for the migration command',
    schemes: ['postgres', 'postgresql'],
  }),
  GATEWAY_REDIS_URL: field.secretUrl({
    doc: 'Redis primary (version 7 or newer, not a cluster node, maxmemory-policy noeviction; other servers are refused), or its Sentinels: redis+sentinel://user:password@a:26379,b:26379,c:26379/name?sentinel_password=…',
    schemes: ['redis', 'rediss', 'redis+sentinel'],
  }),
  GATEWAY_SMTP_URL: field.secretUrl({
    doc: 'mail server for sign-in and alert emails; if not set, emails are written to the log',
    schemes: ['smtp', 'smtps'],
    optional: true,
  }),

  GATEWAY_PUBLIC_URL: field.url({
    doc: 'public address of the gateway; returned by the config route, never taken from a Host header',
    schemes: ['http', 'https'],
  }),
  GATEWAY_DASHBOARD_URL: field.url({ doc: 'address of the dashboard', schemes: ['http', 'https'] }),
  GATEWAY_BILLING_LINK_URL: field.url({
    doc: "page where customers buy credits; the dashboard's billing page if not set",
    schemes: ['http', 'https'],
    default: null,
  }),
  GATEWAY_KEY_PREFIXES: field.list({
    doc: 'prefixes of API keys: new keys get the first one, all are accepted',
    pattern: /^(?=.{5,32}$)[A-Za-z0-9_-]*live_$/,
    patternText: '5 to 32 letters, digits, _ or - that end in live_',
    default: ['mgw_live_'],
  }),
  GATEWAY_KEY_PEPPER: field.rotatableSecret({
    doc: 'key of the HMAC digests of API keys',
    minBytes: PEPPER_BYTES_MIN,
  }),
  GATEWAY_SOURCE_PUBLIC_KEY: field.key({
    doc: "seals the credentials of upstream sources: an X25519 public key, 32 bytes as hex or base64, from 'npm run secrets -- keys'",
    bytes: SEALING_KEY_BYTES,
  }),
  GATEWAY_SOURCE_PRIVATE_KEY: field.rotatableKey({
    doc: "opens the credentials of upstream sources: an X25519 private key, 32 bytes as hex or base64, from 'npm run secrets -- keys'",
    bytes: SEALING_KEY_BYTES,
  }),
  GATEWAY_WEBHOOK_PUBLIC_KEY: field.key({
    doc: "seals the signing secrets of webhooks: an X25519 public key, 32 bytes as hex or base64, from 'npm run secrets -- keys'",
    bytes: SEALING_KEY_BYTES,
  }),
  GATEWAY_WEBHOOK_PRIVATE_KEY: field.rotatableKey({
    doc: "opens the signing secrets of webhooks: an X25519 private key, 32 bytes as hex or base64, from 'npm run secrets -- keys'",
    bytes: SEALING_KEY_BYTES,
  }),
  GATEWAY_SESSION_SECRET: field.rotatableSecret({
    doc: 'signs the sessions of the dashboard',
    minBytes: PEPPER_BYTES_MIN,
  }),
  GATEWAY_OPERATOR_TOKEN: field.rotatableSecret({
    doc: 'token of the operator "root"; at least 32 random characters, for example from `openssl rand -hex 32`',
    minBytes: TOKEN_BYTES_MIN,
    random: true,
  }),
  GATEWAY_MESSAGES_ENABLED: field.boolean({ doc: 'enables the messages endpoints', default: true }),
  GATEWAY_TEAMS_ENABLED: field.boolean({ doc: 'enables team accounts', default: true }),
  GATEWAY_ALLOW_PRIVATE_SOURCES: field.boolean({
    doc: 'allows upstream sources on private and loopback addresses',
    default: false,
  }),

  GATEWAY_LEASE_MS: field.durationMs({
    doc: 'time without a heartbeat after which the slot of a request is freed',
    default: 30_000,
  }),
  GATEWAY_EXPIRY_MS: field.durationMs({
    doc: 'time without a heartbeat after which a request expires',
    default: 120_000,
  }),
  GATEWAY_HEARTBEAT_MS: field.durationMs({ doc: 'interval between two heartbeats of an edge', default: 2_000 }),
  GATEWAY_SWEEP_MS: field.durationMs({ doc: 'interval between two sweeps of a bucket', default: 1_000 }),
  GATEWAY_READ_AFTER_DISCONNECT_MS: field.durationMs({
    doc: 'maximum time to read a response to its end for its usage after the client has disconnected; if not set, the limit is the deadline of the request (for a stream: a silence of that length)',
    min: 0,
    default: null,
  }),
  GATEWAY_DRAIN_MS: field.durationMs({
    doc: 'time for running requests to finish after a stop signal',
    min: 0,
    default: 660_000,
  }),
  GATEWAY_UPSTREAM_DEADLINE_MS: field.durationMs({
    doc: 'timeout for the first event of a stream or the end of a non-streaming response; then the maximum silence of a stream',
    default: 600_000,
  }),
};
