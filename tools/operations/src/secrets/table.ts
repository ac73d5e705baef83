import { LEDGER_SERVICES } from '../migrate-services.js';
import { ADMISSION_USER } from '../redis-users.js';

/** Servers whose users have passwords. */
export type Server = 'postgres' | 'nats' | 'redis';
export type KeyPair = 'source' | 'webhook';

/** How a value is made. Equal recipes have the same value wherever they occur. */
export type Recipe =
  /** Hex digits of `bytes` random bytes. `purpose` distinguishes values. */
  | { readonly kind: 'random'; readonly purpose: string; readonly bytes: number }
  /** Random password of a server's user. */
  | { readonly kind: 'password'; readonly server: Server; readonly user: string }
  /** URL of a server with a user and its password. */
  | { readonly kind: 'url'; readonly server: Server; readonly user: string }
  /** URL of PostgreSQL with the user that migrates: given with its password, or the superuser. */
  | { readonly kind: 'administrator' }
  | { readonly kind: 'privateKey'; readonly pair: KeyPair }
  | { readonly kind: 'publicKey'; readonly pair: KeyPair }
  /** Configuration of a server: its users and their permissions in this release. */
  | { readonly kind: 'natsAuthorization' }
  | { readonly kind: 'redisUsers' }
  /** Made only if an option gives it. */
  | { readonly kind: 'given'; readonly option: 'smtp' };

const KEY_BYTES = 32;
export const SUPERUSER = 'postgres';
export const FINANCE_USER = 'gateway_finance';
export const REDIS_DEFAULT_USER = 'default';

const natsUrl = (user: string): Recipe => ({ kind: 'url', server: 'nats', user });
const roleUrl = (service: string): Recipe => ({ kind: 'url', server: 'postgres', user: `gateway_${service}` });
const random = (purpose: string): Recipe => ({ kind: 'random', purpose, bytes: KEY_BYTES });

const KEY_PEPPER = random('key pepper');
const OPERATOR_TOKEN = random('operator token');
const MIGRATION = {
  GATEWAY_MIGRATION_URL: { kind: 'administrator' },
  ...Object.fromEntries(
    LEDGER_SERVICES.map((service) => [`GATEWAY_${service.toUpperCase()}_POSTGRES_URL`, roleUrl(service)]),
  ),
  GATEWAY_FINANCE_PASSWORD: { kind: 'password', server: 'postgres', user: FINANCE_USER },
} as const satisfies Recipes;

type Recipes = Readonly<Record<string, Recipe>>;

/**
 * The secrets of each consumer by variable or file name. `operator` runs the commands of runbooks:
 * the operator's command, backup and restore, which connects to NATS as billing.
 */
export const SECRETS_TABLE = {
  postgres: { POSTGRES_PASSWORD: { kind: 'password', server: 'postgres', user: SUPERUSER } },
  nats: { 'nats-authorization.conf': { kind: 'natsAuthorization' } },
  redis: {
    'redis-users.acl': { kind: 'redisUsers' },
    REDIS_PASSWORD: { kind: 'password', server: 'redis', user: REDIS_DEFAULT_USER },
  },
  migrate: MIGRATION,
  billing: {
    GATEWAY_NATS_URL: natsUrl('billing'),
    GATEWAY_POSTGRES_URL: roleUrl('billing'),
    GATEWAY_WEBHOOK_PRIVATE_KEY: { kind: 'privateKey', pair: 'webhook' },
  },
  accounts: {
    GATEWAY_NATS_URL: natsUrl('accounts'),
    GATEWAY_POSTGRES_URL: roleUrl('accounts'),
    GATEWAY_SMTP_URL: { kind: 'given', option: 'smtp' },
  },
  catalog: { GATEWAY_NATS_URL: natsUrl('catalog'), GATEWAY_POSTGRES_URL: roleUrl('catalog') },
  admission: {
    GATEWAY_NATS_URL: natsUrl('admission'),
    GATEWAY_REDIS_URL: { kind: 'url', server: 'redis', user: ADMISSION_USER },
  },
  'edge-proxy': {
    GATEWAY_NATS_URL: natsUrl('edge-proxy'),
    GATEWAY_KEY_PEPPER: KEY_PEPPER,
    GATEWAY_SOURCE_PRIVATE_KEY: { kind: 'privateKey', pair: 'source' },
  },
  dashboard: {
    GATEWAY_NATS_URL: natsUrl('dashboard'),
    GATEWAY_KEY_PEPPER: KEY_PEPPER,
    GATEWAY_SOURCE_PUBLIC_KEY: { kind: 'publicKey', pair: 'source' },
    GATEWAY_WEBHOOK_PUBLIC_KEY: { kind: 'publicKey', pair: 'webhook' },
    GATEWAY_SESSION_SECRET: random('session secret'),
    GATEWAY_OPERATOR_TOKEN: OPERATOR_TOKEN,
  },
  operator: { GATEWAY_OPERATOR_TOKEN: OPERATOR_TOKEN, ...MIGRATION, GATEWAY_NATS_URL: natsUrl('billing') },
  /** Creates the demo data of docker-compose.yml. */
  demo: { GATEWAY_OPERATOR_TOKEN: OPERATOR_TOKEN },
  grafana: { GF_SECURITY_ADMIN_PASSWORD: random('grafana password') },
} as const satisfies Readonly<Record<string, Recipes>>;

export type Consumer = keyof typeof SECRETS_TABLE;
export const CONSUMERS = Object.keys(SECRETS_TABLE) as Consumer[];

/** The table as rows, in its order. */
export const SECRET_ROWS: readonly { readonly consumer: Consumer; readonly name: string; readonly recipe: Recipe }[] =
  CONSUMERS.flatMap((consumer) =>
    Object.entries(SECRETS_TABLE[consumer] as Recipes).map(([name, recipe]) => ({ consumer, name, recipe })),
  );
