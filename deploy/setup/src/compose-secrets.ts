import { createHash, randomBytes } from 'node:crypto';
import { natsAuthorization } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { publicHalfOf, Secret } from '@gateway/service-kit';
import { LEDGER_SERVICES } from './migrate-services.js';
import { ADMISSION_USER, redisUsers } from './redis-users.js';

/** Names of the hosts in the compose file. */
const HOSTS = { postgres: 'postgres:5432', nats: 'nats:4222', redis: 'redis:6379' } as const;
const DATABASE = 'gateway';
const PASSWORD_BYTES = 24;
const KEY_BYTES = 32;

/** Secret files that are yours to fill: made empty, and never written again. */
export const GIVEN_SECRETS: readonly string[] = ['smtp-url'];

/**
 * The text of each secret file of the compose file, by name. Everything is derived from `root`, the
 * one secret that must be kept: the same root gives the same files, also when a release adds one.
 */
export function composeSecrets(root: string): Record<string, string> {
  const of = (purpose: string, bytes = PASSWORD_BYTES) => derive(root, purpose, bytes);
  const busPasswords = Object.fromEntries(SERVICE_NAMES.map((name) => [name, of(`bus ${name}`)])) as Record<
    ServiceName,
    string
  >;
  const [sourceKey, webhookKey] = [of('source private key', KEY_BYTES), of('webhook private key', KEY_BYTES)];
  const postgresPassword = of('postgres superuser');
  const redisPasswords = { default: of('redis default'), admission: of('redis admission') };
  return {
    'postgres-password': postgresPassword,
    'migration-url': postgresUrl('postgres', postgresPassword),
    'finance-password': of('postgres finance'),
    ...Object.fromEntries(
      LEDGER_SERVICES.map((name) => [`${name}-postgres-url`, postgresUrl(`gateway_${name}`, of(`postgres ${name}`))]),
    ),
    ...Object.fromEntries(
      SERVICE_NAMES.map((name) => [`${name}-nats-url`, `nats://${name}:${busPasswords[name]}@${HOSTS.nats}`]),
    ),
    'nats-authorization.conf': natsAuthorization(busPasswords, MESSAGES),
    'redis-users.acl': redisUsers(redisPasswords)
      .map((words) => `${words.join(' ')}\n`)
      .join(''),
    'redis-password': redisPasswords.default,
    'redis-url': `redis://${ADMISSION_USER}:${redisPasswords.admission}@${HOSTS.redis}`,
    'key-pepper': of('key pepper', KEY_BYTES),
    'source-private-key': sourceKey,
    'source-public-key': publicKeyOf(sourceKey),
    'webhook-private-key': webhookKey,
    'webhook-public-key': publicKeyOf(webhookKey),
    'session-secret': of('session secret', KEY_BYTES),
    'operator-token': of('operator token', KEY_BYTES),
    'grafana-password': of('grafana'),
  };
}

/** A new root secret. */
export function makeRoot(): string {
  return randomBytes(KEY_BYTES).toString('hex');
}

function derive(root: string, purpose: string, bytes: number): string {
  return createHash('sha256')
    .update(`gateway compose\0${purpose}\0${root}`)
    .digest('hex')
    .slice(0, bytes * 2);
}

/** Any 32 bytes are a private key of X25519. */
function publicKeyOf(privateKey: string): string {
  return publicHalfOf(new Secret(Buffer.from(privateKey, 'hex')))
    .reveal()
    .toString('hex');
}

function postgresUrl(user: string, password: string): string {
  return `postgres://${user}:${password}@${HOSTS.postgres}/${DATABASE}`;
}
