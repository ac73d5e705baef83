import { lookup } from 'node:dns/promises';
import { urlsOf, within } from '@gateway/service-kit';
import { Redis, type RedisOptions } from 'ioredis';

const SCHEME = 'redis+sentinel:';
const DEFAULT_PORT = 26_379;
const REDIS_PORT = 6_379;
/**
 * A Sentinel that does not respond within this time counts as not confirming, and another one is
 * queried for the primary.
 */
const ANSWER_MS = 800;
/** A connection to a Sentinel is replaced when nothing has been received for this long. */
const SILENCE_MS = 2_000;
const CONNECT_MS = 500;
/** Pause between attempts to reach an unavailable Sentinel. */
const RETRY_MS = 200;

/** Connection options. Replies use the RESP2 format. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/**
 * RESP3 would not change any reply that is read here, and a proxy may not know its `HELLO` command.
 */
const PROTOCOL: ConnectionOptions = { protocol: 2 };

/** The remote end of a connection, as reported by its socket. */
export interface SocketAddress {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

/** The location of Redis: a fixed address, or the one that Sentinels name. */
export interface RedisAddress {
  readonly options: ConnectionOptions;
  /** Whether the location may change, so that it must be confirmed repeatedly. */
  readonly moves: boolean;
  /**
   * Returns why this place must not be used, or null. More than half of all Sentinels must name it
   * as the primary. Fewer name a replaced primary that does not know of its replacement.
   */
  problem(place: SocketAddress): Promise<string | null>;
  close(): void;
}

/**
 * Parses `redis://user:password@host:6379` (also `rediss:`), or
 * `redis+sentinel://user:password@a:26379,b:26379,c:26379/name?sentinel_password=…`. User and
 * password are those of Redis; the Sentinels monitor the primary under the name.
 * @throws TypeError for any other URL
 */
export function parseRedisAddress(text: string): RedisAddress {
  const urls = urlsOf(text).map((url) => new URL(url));
  const [first] = urls;
  if (first?.protocol !== SCHEME) return createFixedAddress(new URL(text));
  const name = decodeURIComponent(first.pathname.slice(1));
  if (name === '') throw new TypeError('the URL names no primary: redis+sentinel://a:26379,b:26379,c:26379/name');
  const places = urls.map(({ hostname, port }) => ({ host: hostname, port: Number(port) || DEFAULT_PORT }));
  const password = first.searchParams.get('sentinel_password');
  const login = password === null ? {} : { sentinelPassword: password };
  const sentinels = places.map((place) => connectSentinel({ ...place, ...(password === null ? {} : { password }) }));
  return {
    options: {
      ...PROTOCOL,
      ...parseCredentials(first),
      ...login,
      sentinels: places,
      name,
      sentinelCommandTimeout: ANSWER_MS,
      sentinelRetryStrategy: () => RETRY_MS,
    },
    moves: true,
    async problem(place) {
      const answers = await Promise.all(sentinels.map((sentinel) => isNamed(sentinel, name, place)));
      const confirmed = answers.filter(Boolean).length;
      if (confirmed * 2 > sentinels.length) return null;
      return (
        `only ${confirmed} of ${sentinels.length} Sentinels say that ${place.remoteAddress ?? 'this server'} is the primary ` +
        `${name}: it was replaced, or too few Sentinels run`
      );
    },
    close() {
      for (const sentinel of sentinels) sentinel.disconnect();
    },
  };
}

function createFixedAddress(url: URL): RedisAddress {
  const tls = url.protocol === 'rediss:' ? { tls: {} } : {};
  const place = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || REDIS_PORT };
  const options = { ...PROTOCOL, ...place, db: Number(url.pathname.slice(1)) || 0, ...parseCredentials(url), ...tls };
  return { options, moves: false, problem: () => Promise.resolve(null), close: () => undefined };
}

function parseCredentials({ username, password }: URL): ConnectionOptions {
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}

function connectSentinel(options: ConnectionOptions): Redis {
  const sentinel = new Redis({
    ...options,
    ...PROTOCOL,
    connectTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    // Queries to an unavailable Sentinel fail at once and are not kept.
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    lazyConnect: true,
    retryStrategy: () => RETRY_MS,
    connectionName: 'gateway-admission',
  });
  sentinel.on('error', () => undefined);
  return sentinel;
}

async function isNamed(sentinel: Redis, name: string, { remoteAddress, remotePort }: SocketAddress): Promise<boolean> {
  try {
    const asked = sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
    const [host = '', port] = ((await within(asked, ANSWER_MS)) ?? []) as string[];
    if (Number(port) !== remotePort || remoteAddress === undefined) return false;
    const addresses = await lookup(host, { all: true });
    return addresses.some(({ address }) => address === remoteAddress.replace(/^::ffff:/, ''));
  } catch {
    return false;
  }
}
