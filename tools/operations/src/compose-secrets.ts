import { createHash, randomBytes } from 'node:crypto';
import { natsAuthorization } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { makePrivateKey, publicHalfOf, Secret } from '@gateway/service-kit';
import { LEDGER_SERVICES } from './migrate-services.js';
import { ADMISSION_USER, redisUsers } from './redis-users.js';

/** Host names in the compose file. */
const HOSTS = { postgres: 'postgres:5432', nats: 'nats:4222', redis: 'redis:6379' } as const;
const DATABASE = 'gateway';
const PASSWORD_BYTES = 24;
const KEY_BYTES = 32;

/** Secret files for the operator to fill: created empty and never rewritten. */
export const OPERATOR_SECRETS: readonly string[] = ['smtp-url'];

/**
 * Configuration of servers, derived from passwords in other files and the permissions of this
 * release.
 */
export const SERVER_FILES: readonly string[] = ['nats-authorization.conf', 'redis-users.acl'];

/**
 * Returns the text of each secret file of the compose file. All are derived from `root`, the one
 * secret to keep: the same root gives the same files, also if a release adds one.
 * @param kept texts of existing files, which are kept; {@link SERVER_FILES} are derived from them
 */
export function composeSecrets(root: string, kept: Readonly<Record<string, string>> = {}): Record<string, string> {
  const of = (purpose: string, bytes = PASSWORD_BYTES) => derive(root, purpose, bytes);
  const busPasswords = passwordsOf((service) => of(`bus ${service}`));
  const postgresPassword = of('postgres superuser');
  const redisPasswords = { default: of('redis default'), admission: of('redis admission') };
  const secrets = {
    'postgres-password': postgresPassword,
    'migration-url': postgresUrl('postgres', postgresPassword),
    'finance-password': of('postgres finance'),
    ...Object.fromEntries(
      LEDGER_SERVICES.map((name) => [`${name}-postgres-url`, postgresUrl(`gateway_${name}`, of(`postgres ${name}`))]),
    ),
    ...Object.fromEntries(
      SERVICE_NAMES.map((name) => [`${name}-nats-url`, `nats://${name}:${busPasswords[name]}@${HOSTS.nats}`]),
    ),
    'redis-password': redisPasswords.default,
    'redis-url': `redis://${ADMISSION_USER}:${redisPasswords.admission}@${HOSTS.redis}`,
    'key-pepper': of('key pepper', KEY_BYTES),
    'source-private-key': of('source private key', KEY_BYTES),
    'webhook-private-key': of('webhook private key', KEY_BYTES),
    'session-secret': of('session secret', KEY_BYTES),
    'operator-token': of('operator token', KEY_BYTES),
    'grafana-password': of('grafana'),
    ...kept,
  };
  const inUrl = (name: string, otherwise: string) => {
    const text = kept[name];
    return text === undefined ? otherwise : passwordIn(name, text);
  };
  const users = redisUsers({
    default: secrets['redis-password'].trimEnd(),
    admission: inUrl('redis-url', redisPasswords.admission),
  });
  return {
    ...secrets,
    'source-public-key': kept['source-public-key'] ?? publicKeyOf(secrets['source-private-key']),
    'webhook-public-key': kept['webhook-public-key'] ?? publicKeyOf(secrets['webhook-private-key']),
    'nats-authorization.conf': natsAuthorization(
      passwordsOf((service) => inUrl(`${service}-nats-url`, busPasswords[service])),
      MESSAGES,
    ),
    'redis-users.acl': users.map((words) => `${words.join(' ')}\n`).join(''),
  };
}

function passwordsOf(passwordOf: (service: ServiceName) => string): Record<ServiceName, string> {
  return Object.fromEntries(SERVICE_NAMES.map((name) => [name, passwordOf(name)])) as Record<ServiceName, string>;
}

/**
 * Returns the password as the service reads it.
 * @throws Error for a text that is not a URL with a password
 */
function passwordIn(name: string, text: string): string {
  const url = text.trim();
  const password = URL.canParse(url) ? new URL(url).password : '';
  try {
    if (password !== '') return decodeURIComponent(password);
  } catch {
    // The password is not URL-encoded.
  }
  throw new Error(`the file ${name} is not a URL with a password: correct it, or delete it and run the command again`);
}

/**
 * Returns new key pairs by variable, in base64: private keys for edges and billing, public keys for
 * the dashboard.
 */
export function makeSealingKeys(): Record<string, string> {
  return Object.fromEntries(
    ['SOURCE', 'WEBHOOK'].flatMap((purpose) => {
      const privateKey = makePrivateKey();
      return [
        [`GATEWAY_${purpose}_PRIVATE_KEY`, privateKey.toString('base64')],
        [`GATEWAY_${purpose}_PUBLIC_KEY`, publicHalfOf(new Secret(privateKey)).reveal().toString('base64')],
      ];
    }),
  );
}

/** Returns a new root secret. */
export function makeRoot(): string {
  return randomBytes(KEY_BYTES).toString('hex');
}

function derive(root: string, purpose: string, bytes: number): string {
  return createHash('sha256')
    .update(`gateway compose\0${purpose}\0${root}`)
    .digest('hex')
    .slice(0, bytes * 2);
}

/** Any 32 bytes are a private key of X25519. `npm run secrets -- keys` prints keys in base64. */
function publicKeyOf(privateKey: string): string {
  const encoding = /^[0-9a-f]{64}\s*$/i.test(privateKey) ? 'hex' : 'base64';
  return publicHalfOf(new Secret(Buffer.from(privateKey, encoding)))
    .reveal()
    .toString('hex');
}

function postgresUrl(user: string, password: string): string {
  return `postgres://${user}:${password}@${HOSTS.postgres}/${DATABASE}`;
}
