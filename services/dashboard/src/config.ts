import { COMMON_FIELDS, field, portField, type ConfigOf } from '@gateway/service-kit';

const PROXIES_MAX = 8;

/**
 * Configuration of the dashboard. The operator API listens on the loopback address by default,
 * because any client that can connect needs only a token.
 */
export const DASHBOARD_FIELDS = {
  GATEWAY_DASHBOARD_LISTENERS: field.choice({
    doc: 'listeners of this process; with separate processes, load on the pages does not affect the operator API',
    choices: ['both', 'pages', 'operator'],
    default: 'both',
  }),
  GATEWAY_OPERATOR_HOST: field.string({ doc: 'address on which the operator API listens', default: '127.0.0.1' }),
  GATEWAY_OPERATOR_PORT: portField('port of the operator API', 8_082),
  GATEWAY_DASHBOARD_HOST: field.string({ doc: 'address on which the dashboard listens', default: '127.0.0.1' }),
  GATEWAY_DASHBOARD_PORT: portField('port of the dashboard', 8_081),
  GATEWAY_DASHBOARD_URL: COMMON_FIELDS.GATEWAY_DASHBOARD_URL,
  GATEWAY_DASHBOARD_OPERATORS: field.boolean({
    doc: "allows operators to sign in on the dashboard's pages, and serves the operator API below them",
    default: false,
  }),
  GATEWAY_DASHBOARD_PROXIES: field.integer({
    doc: 'trusted proxies in front of the dashboard that append to X-Forwarded-For; clients are limited by the address that they report',
    min: 0,
    max: PROXIES_MAX,
    default: 0,
  }),
  GATEWAY_PUBLIC_URL: COMMON_FIELDS.GATEWAY_PUBLIC_URL,
  GATEWAY_EDGE_URL: field.url({
    doc: 'address of the edges inside the deployment, for the playground; GATEWAY_PUBLIC_URL when not set',
    schemes: ['http', 'https'],
    default: null,
  }),
  GATEWAY_SIGN_UP_ENABLED: field.boolean({ doc: 'allows people to sign up', default: true }),
  GATEWAY_TEAMS_ENABLED: COMMON_FIELDS.GATEWAY_TEAMS_ENABLED,
  GATEWAY_MESSAGES_ENABLED: COMMON_FIELDS.GATEWAY_MESSAGES_ENABLED,
  GATEWAY_SESSION_SECRET: COMMON_FIELDS.GATEWAY_SESSION_SECRET,
  GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL,
  GATEWAY_KEY_PREFIXES: COMMON_FIELDS.GATEWAY_KEY_PREFIXES,
  GATEWAY_KEY_PEPPER: COMMON_FIELDS.GATEWAY_KEY_PEPPER,
  GATEWAY_SOURCE_PUBLIC_KEY: COMMON_FIELDS.GATEWAY_SOURCE_PUBLIC_KEY,
  GATEWAY_WEBHOOK_PUBLIC_KEY: COMMON_FIELDS.GATEWAY_WEBHOOK_PUBLIC_KEY,
  GATEWAY_OPERATOR_TOKEN: COMMON_FIELDS.GATEWAY_OPERATOR_TOKEN,
  GATEWAY_CREDENTIAL_ENV: field.list({
    doc: 'variables that a source may name as its credential (`fromEnv`), directly or with `_FILE`; a name that ends in `*` is a prefix',
    pattern: /^[A-Z][A-Z0-9_]{0,127}\*?$/,
    patternText: 'a name in capitals, digits and _, or a prefix and *',
    default: ['PROVIDER_*'],
  }),
} as const;

export type DashboardConfig = ConfigOf<typeof DASHBOARD_FIELDS>;
