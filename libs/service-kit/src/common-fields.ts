import { field } from './field.js';

const PORT_MAX = 65_535;
const PEPPER_BYTES_MIN = 32;
const TOKEN_BYTES_MIN = 24;
const SEALING_KEY_BYTES = 32;
const MEBIBYTE = 1024 * 1024;

/** How a port is read everywhere: 0 takes a free one. */
export function portField(doc: string, port: number) {
  return field.integer({ doc: `${doc}; 0 takes a free one`, min: 0, max: PORT_MAX, default: port });
}

/**
 * Variables that more than one program reads, so that each has one name, one default and one doc. A
 * service picks those that it needs.
 */
export const COMMON_FIELDS = {
  GATEWAY_LOG_LEVEL: field.choice({
    doc: 'the least severe log lines that are written',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
  }),
  GATEWAY_ADMIN_PORT: portField('port of /healthz, /readyz and /metrics', 9_090),
  GATEWAY_ADMIN_HOST: field.string({ doc: 'address on which the admin port listens', default: '127.0.0.1' }),
  GATEWAY_REPLICA: field.string({
    doc: 'name of this replica in logs, metrics and subjects; 8 random hex digits when not set',
    pattern: /^[A-Za-z0-9_-]{1,64}$/,
    patternText: '1 to 64 letters, digits, _ or -',
    default: null,
  }),
  GATEWAY_TEST_CONTROLS: field.boolean({
    doc: 'opens controls for tests (a shifted clock); only with listeners on loopback addresses',
    default: false,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: field.url({
    doc: 'OTLP/HTTP collector to which traces are sent; no tracing when not set',
    schemes: ['http', 'https'],
    default: null,
  }),
  GATEWAY_TRACE_RATIO: field.number({
    doc: 'share of the calls that are traced, 0 to 1; calls that arrive with a sampled traceparent always are',
    min: 0,
    max: 1,
    default: 0,
  }),

  GATEWAY_NATS_URL: field.secretUrl({
    doc: 'NATS server, or several (nats://user:password@a:4222,b:4222), with the user and password of this service',
    schemes: ['nats', 'tls'],
  }),
  GATEWAY_USAGE_STREAM_BYTES: field.integer({
    doc: 'largest size of the stream of usage events; a full stream stops new calls',
    min: 16 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    default: 4_096 * MEBIBYTE,
  }),
  GATEWAY_STREAM_REPLICAS: field.integer({
    doc: 'copies of each stream and of the published catalog: 1 on a single NATS server, 3 in a cluster',
    min: 1,
    max: 5,
    default: 1,
  }),
  GATEWAY_POSTGRES_URL: field.secretUrl({
    doc: "PostgreSQL database with this service's own role; of several servers (postgres://user:password@a:5432,b:5432/db) the primary is looked for",
    schemes: ['postgres', 'postgresql'],
  }),
  GATEWAY_MIGRATION_URL: field.secretUrl({
    doc: 'PostgreSQL database with a role that may create schemas and roles; read by the migration command only',
    schemes: ['postgres', 'postgresql'],
  }),
  GATEWAY_REDIS_URL: field.secretUrl({
    doc: 'one Redis server, 7 or newer, the primary and no cluster node, with maxmemory-policy noeviction: others are refused; or Sentinels that know it: redis+sentinel://user:password@a:26379,b:26379,c:26379/name?sentinel_password=…',
    schemes: ['redis', 'rediss', 'redis+sentinel'],
  }),
  GATEWAY_SMTP_URL: field.secretUrl({
    doc: 'mail server for sign-in and alert mails; without one mails are written to the log',
    schemes: ['smtp', 'smtps'],
    optional: true,
  }),

  GATEWAY_PUBLIC_URL: field.url({
    doc: 'address under which clients reach the gateway; answered by the config route, never taken from a Host header',
    schemes: ['http', 'https'],
  }),
  GATEWAY_DASHBOARD_URL: field.url({ doc: 'address of the dashboard', schemes: ['http', 'https'] }),
  GATEWAY_BILLING_LINK_URL: field.url({
    doc: "page where a customer buys more; the dashboard's billing page when not set",
    schemes: ['http', 'https'],
    default: null,
  }),
  GATEWAY_KEY_PREFIXES: field.list({
    doc: 'prefixes of API keys: the first is issued, all are accepted',
    pattern: /^(?=.{5,32}$)[A-Za-z0-9_-]*live_$/,
    patternText: '5 to 32 letters, digits, _ or - that end in live_',
    default: ['mgw_live_'],
  }),
  GATEWAY_KEY_PEPPER: field.rotatableSecret({
    doc: 'key of the digests under which API keys are stored',
    minBytes: PEPPER_BYTES_MIN,
  }),
  GATEWAY_SOURCE_PUBLIC_KEY: field.key({
    doc: "seals the credentials of upstream sources: an X25519 public key, 32 bytes as hex or base64, from 'npm run sealing-keys'",
    bytes: SEALING_KEY_BYTES,
  }),
  GATEWAY_SOURCE_PRIVATE_KEY: field.rotatableKey({
    doc: "opens the credentials of upstream sources: an X25519 private key, 32 bytes as hex or base64, from 'npm run sealing-keys'",
    bytes: SEALING_KEY_BYTES,
  }),
  GATEWAY_WEBHOOK_PUBLIC_KEY: field.key({
    doc: "seals the signing secrets of webhooks: an X25519 public key, 32 bytes as hex or base64, from 'npm run sealing-keys'",
    bytes: SEALING_KEY_BYTES,
  }),
  GATEWAY_WEBHOOK_PRIVATE_KEY: field.rotatableKey({
    doc: "opens the signing secrets of webhooks: an X25519 private key, 32 bytes as hex or base64, from 'npm run sealing-keys'",
    bytes: SEALING_KEY_BYTES,
  }),
  GATEWAY_SESSION_SECRET: field.rotatableSecret({
    doc: 'signs the sessions of the dashboard',
    minBytes: PEPPER_BYTES_MIN,
  }),
  GATEWAY_OPERATOR_TOKEN: field.rotatableSecret({
    doc: 'token of the operator "root"; at least 32 random characters, as `openssl rand -hex 32` makes them',
    minBytes: TOKEN_BYTES_MIN,
    random: true,
  }),
  GATEWAY_MESSAGES_ENABLED: field.boolean({ doc: 'serves the messages endpoints', default: true }),
  GATEWAY_TEAMS_ENABLED: field.boolean({ doc: 'serves team accounts', default: true }),
  GATEWAY_ALLOW_PRIVATE_SOURCES: field.boolean({
    doc: 'allows upstream sources on private and loopback addresses',
    default: false,
  }),

  GATEWAY_LEASE_MS: field.durationMs({
    doc: 'a slot falls free when no beat confirmed its call for so long',
    default: 30_000,
  }),
  GATEWAY_EXPIRY_MS: field.durationMs({ doc: 'a call expires when no beat named it for so long', default: 120_000 }),
  GATEWAY_BEAT_MS: field.durationMs({ doc: 'time between two beats of an edge', default: 2_000 }),
  GATEWAY_SWEEP_MS: field.durationMs({ doc: 'time between two sweeps of a bucket', default: 1_000 }),
  GATEWAY_READ_ON_MS: field.durationMs({
    doc: 'how long an answer is read on at most after its client has left, to learn the usage; without it: to its end, at most to the deadline of the call (a stream: until it is silent for as long)',
    min: 0,
    default: null,
  }),
  GATEWAY_DRAIN_MS: field.durationMs({
    doc: 'how long running calls may finish after a stop',
    min: 0,
    default: 660_000,
  }),
  GATEWAY_UPSTREAM_DEADLINE_MS: field.durationMs({
    doc: 'longest time to the first event of a stream or to the end of a plain answer; then the longest silence of a stream',
    default: 600_000,
  }),
};
