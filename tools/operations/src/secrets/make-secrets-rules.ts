import { natsAuthorization } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { makePrivateKey, publicHalfOf, Secret, urlsOf } from '@gateway/service-kit';
import { ADMISSION_USER, redisUsers } from '../redis-users.js';
import {
  REDIS_DEFAULT_USER,
  SECRET_ROWS,
  SUPERUSER,
  type Consumer,
  type KeyPair,
  type Recipe,
  type Server,
} from './table.js';

/** Values by consumer and name. */
export type Secrets = Readonly<Partial<Record<Consumer, Readonly<Record<string, string>>>>>;

export interface MakeSecretsOptions {
  /**
   * Addresses without users. PostgreSQL's may have the user and password of the user that migrates;
   * without them it is the superuser, whose password is made.
   */
  readonly urls: Readonly<Record<Server, string>>;
  readonly smtp?: string | undefined;
  /** Returns random bytes. */
  readonly random: (bytes: number) => Buffer;
  /** Default: all. */
  readonly consumers?: readonly Consumer[];
}

export interface MadeSecrets {
  /** Kept values, also of names that the table does not have, and new ones. */
  readonly secrets: Secrets;
  /** `consumer/name` of new values. */
  readonly created: readonly string[];
  /** `consumer/name` of values that were derived again and are different now. */
  readonly rewritten: readonly string[];
  /** `consumer/name` of kept values that differ from another kept value or from the options. */
  readonly differing: readonly string[];
}

const PASSWORD_BYTES = 24;
const KEY_BYTES = 32;

/**
 * Makes the missing values of the table. Keeps existing ones as they are, also changed ones, and
 * takes the passwords of other values from them. The configurations of servers are derived again,
 * and the public key of a lost private key, because nothing can open its sealed values.
 * @throws Error if a kept URL has no password; the error names it and has no value
 */
export function makeSecrets(kept: Secrets, options: MakeSecretsOptions): MadeSecrets {
  const { consumers } = options;
  const rows = SECRET_ROWS.filter(({ consumer }) => consumers?.includes(consumer) ?? true);
  const values = new Map<string, string>();
  const places = new Map<string, string>();
  const lostPairs = new Set(SECRET_ROWS.flatMap(({ recipe }) => (recipe.kind === 'privateKey' ? recipe.pair : [])));
  for (const { consumer, name, recipe } of SECRET_ROWS) {
    if (recipe.kind === 'privateKey' && kept[consumer]?.[name]?.trim()) lostPairs.delete(recipe.pair);
  }
  const isDerived = (recipe: Recipe): boolean =>
    recipe.kind === 'natsAuthorization' ||
    recipe.kind === 'redisUsers' ||
    (recipe.kind === 'publicKey' && lostPairs.has(recipe.pair));
  // Any consumer's kept value counts, also of one that is not made in this run.
  for (const { consumer, name, recipe } of SECRET_ROWS) {
    const text = kept[consumer]?.[name] ?? '';
    const key = keyOf(recipe);
    if (text.trim() === '' || isDerived(recipe) || values.has(key)) continue;
    values.set(key, text);
    places.set(key, `${consumer}/${name}`);
  }

  const once = (recipe: Recipe, make: () => string): string => {
    const key = keyOf(recipe);
    const value = values.get(key) ?? make();
    values.set(key, value);
    return value;
  };
  const passwordOf = (server: Server, user: string): string => {
    const recipe: Recipe = { kind: 'password', server, user };
    return once(recipe, () => {
      const url: Recipe =
        server === 'postgres' && user === SUPERUSER ? { kind: 'administrator' } : { kind: 'url', server, user };
      const text = values.get(keyOf(url));
      if (text === undefined) return options.random(PASSWORD_BYTES).toString('hex');
      return passwordIn(places.get(keyOf(url)) ?? '', text);
    }).trim();
  };
  const privateKeyOf = (pair: KeyPair) =>
    once({ kind: 'privateKey', pair }, () => options.random(KEY_BYTES).toString('hex'));
  const urlOf = (server: Server, user: string) => withUser(options.urls[server], user, passwordOf(server, user));
  const administrator = () =>
    /^[^/]+:\/\/[^@/]*@/.test(options.urls.postgres) ? options.urls.postgres : urlOf('postgres', SUPERUSER);

  const fresh = (recipe: Recipe): string | undefined => {
    switch (recipe.kind) {
      case 'random':
        return options.random(recipe.bytes).toString('hex');
      case 'password':
        return passwordOf(recipe.server, recipe.user);
      case 'url':
        return urlOf(recipe.server, recipe.user);
      case 'administrator':
        return administrator();
      case 'privateKey':
        return privateKeyOf(recipe.pair);
      case 'publicKey':
        return publicKeyOf(privateKeyOf(recipe.pair));
      case 'natsAuthorization':
        // A server with credentials files has its users elsewhere.
        if ([...values.values()].some(hasCredentialsFile)) return kept.nats?.['nats-authorization.conf'];
        return natsAuthorization(
          Object.fromEntries(SERVICE_NAMES.map((name) => [name, passwordOf('nats', name)])) as Record<
            ServiceName,
            string
          >,
          MESSAGES,
        );
      case 'redisUsers':
        return redisUsers({
          default: passwordOf('redis', REDIS_DEFAULT_USER),
          admission: passwordOf('redis', ADMISSION_USER),
        })
          .map((words) => `${words.join(' ')}\n`)
          .join('');
      case 'given':
        return options.smtp;
    }
  };

  const secrets: Partial<Record<Consumer, Record<string, string>>> = {};
  const created: string[] = [];
  const rewritten: string[] = [];
  const differing: string[] = [];
  for (const [consumer, texts] of Object.entries(kept) as [Consumer, Readonly<Record<string, string>>][]) {
    if (consumers?.includes(consumer) ?? true) secrets[consumer] = { ...texts };
  }
  for (const { consumer, name, recipe } of rows) {
    const place = `${consumer}/${name}`;
    const before = kept[consumer]?.[name] ?? '';
    const isKept = before.trim() !== '' && !isDerived(recipe);
    const value = isKept ? before : (values.get(keyOf(recipe))?.trim() ?? fresh(recipe));
    if (value === undefined) continue;
    if (!isDerived(recipe)) once(recipe, () => value);
    (secrets[consumer] ??= {})[name] = value;
    if (before.trim() === '') created.push(place);
    else if (value !== before) rewritten.push(place);
    else if (isKept && isOther(recipe, value)) differing.push(place);
  }
  return { secrets, created, rewritten, differing };

  function isOther(recipe: Recipe, value: string): boolean {
    if (values.get(keyOf(recipe))?.trim() !== value.trim() || hasCredentialsFile(value)) return true;
    if (recipe.kind === 'url') return urlOf(recipe.server, recipe.user) !== value.trim();
    if (recipe.kind === 'publicKey') return decodeKey(value) !== publicKeyOf(privateKeyOf(recipe.pair));
    if (recipe.kind === 'administrator') return administrator() !== value.trim();
    return recipe.kind === 'given' && options.smtp !== undefined && options.smtp !== value.trim();
  }
}

/** Reports whether a URL of NATS names a credentials file instead of a user and password. */
function hasCredentialsFile(url: string): boolean {
  return /^(nats|tls):\/\/[^@]*\?credentials=/.test(url);
}

function keyOf(recipe: Recipe): string {
  return JSON.stringify(recipe);
}

/** Returns the URL, which may name several servers, with this user instead of its own. */
export function withUser(url: string, user: string, password: string): string {
  return url.replace(
    /^([a-z+]+:\/\/)(?:[^@/]*@)?/,
    (_all, scheme: string) => `${scheme}${encodeURIComponent(user)}:${encodeURIComponent(password)}@`,
  );
}

/**
 * Returns the password as the service reads it.
 * @throws Error for a text that is not a URL with a password
 */
function passwordIn(place: string, text: string): string {
  const url = urlsOf(text.trim())[0] ?? '';
  const password = URL.canParse(url) ? new URL(url).password : '';
  try {
    if (password !== '') return decodeURIComponent(password);
  } catch {
    // The password is not URL-encoded.
  }
  throw new Error(`${place} is not a URL with a password: correct it, or delete it and run the command again`);
}

/** Returns the public key in hex. Any 32 bytes are a private key of X25519. */
function publicKeyOf(privateKey: string): string {
  return publicHalfOf(new Secret(Buffer.from(decodeKey(privateKey), 'hex')))
    .reveal()
    .toString('hex');
}

/** Returns a key in hex or base64 as hex. */
function decodeKey(text: string): string {
  const key = text.trim();
  return /^[0-9a-f]{64}$/i.test(key) ? key.toLowerCase() : Buffer.from(key, 'base64').toString('hex');
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
