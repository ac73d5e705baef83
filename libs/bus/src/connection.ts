import type { ServiceName } from '@gateway/contracts/messages';
import { systemClock, Throttle, type TimerClock } from '@gateway/service-kit';
import { readFileSync } from 'node:fs';
import { connect, credsAuthenticator, Events, type Authenticator, type NatsConnection, type Status } from 'nats';
import { BusFault } from './bus-fault.js';
import type { BusLog, BusOptions } from './bus.js';
import { makeCounters, type Counters } from './counters.js';
import { fixTransport } from './fix-transport.js';

const FIRST_CONNECT_MS = 30_000;
/** Timeout of one attempt to connect, with its handshake. */
const DIAL_MS = 3_000;
const RECONNECT_WAIT_MS = 100;
/** Random addition, so that all processes do not reconnect at the same moment. */
const RECONNECT_JITTER_MS = 150;
/** Two unanswered pings in a row end the connection (docs/protocol.md#r18). */
const PING_INTERVAL_MS = 2_000;
const PINGS_UNANSWERED_MAX = 2;
/** This many refused handshakes before the first success mean a wrong user or password. */
const HANDSHAKES_REFUSED_MAX = 3;

/**
 * At most one log line about server errors per interval. A wrong permission would otherwise flood
 * the log.
 */
const ERROR_LOG_EVERY_MS = 1_000;

/** The connection as the other parts of the bus use it. */
export interface Link {
  readonly nats: NatsConnection;
  readonly service: ServiceName;
  readonly replica: string;
  readonly log: BusLog;
  readonly counters: Counters;
  readonly clock: TimerClock;
  connected(): boolean;
  onReconnect(listener: () => void): () => void;
  /** Also called when the connection is closed. */
  onDisconnect(listener: () => void): () => void;
  /** Called when the server refuses a publication to a subject. */
  onForbidden(listener: (subject: string) => void): () => void;
}

/** The subject prefix of a service's reply inboxes. Its permissions use the same prefix. */
export function inboxPrefix(service: ServiceName): string {
  return `_INBOX_${service}`;
}

/** Connects and reconnects until it is closed. Rejects if the first connection takes too long. */
export async function openConnection(options: BusOptions): Promise<Link> {
  const { clock = systemClock } = options;
  const nats = await firstConnect(options, clock);
  const reconnect = makeListeners<void>(options.log);
  const disconnect = makeListeners<void>(options.log);
  const forbidden = makeListeners<string>(options.log);
  let connected = true;
  const errors = new Throttle({ everyMs: ERROR_LOG_EVERY_MS, nowMs: () => clock.monotonicMs() });

  const follow = (status: Status): void => {
    if (status.type === Events.Disconnect && connected) {
      connected = false;
      options.log.warn({ server: status.data }, 'bus disconnected');
      disconnect.call();
    } else if (status.type === Events.Reconnect) {
      connected = true;
      options.log.info({ server: status.data }, 'bus reconnected');
      reconnect.call();
    } else if (status.type === Events.Error) {
      const refused = status.permissionContext;
      if (errors.pass('') !== null) options.log.error({ error: status.data, ...refused }, 'bus error');
      if (refused?.operation === 'publish') forbidden.call(refused.subject);
    }
  };
  void (async () => {
    for await (const status of nats.status()) follow(status);
  })();
  // One handler per connection: each further `then` would be kept until the connection ends.
  void nats.closed().then(() => {
    connected = false;
    disconnect.call();
  });

  return {
    nats,
    service: options.service,
    replica: options.replica,
    log: options.log,
    counters: makeCounters(options.service),
    clock,
    connected: () => connected && !nats.isClosed(),
    onReconnect: reconnect.add,
    onDisconnect: disconnect.add,
    onForbidden: forbidden.add,
  };
}

async function firstConnect(options: BusOptions, clock: TimerClock): Promise<NatsConnection> {
  fixTransport();
  const { servers, login, signsInAs, tls } = readUrl(options.url);
  const waitMs = options.waitForFirstConnectMs ?? FIRST_CONNECT_MS;
  const deadline = clock.monotonicMs() + clock.timeoutMs(waitMs);
  let everConnected = false;
  let handshakes = 0;

  /**
   * Runs before each attempt. Throwing is the only way to end the library's first connection
   * attempts.
   */
  const reconnectDelayHandler = (): number => {
    if (!everConnected) {
      if (handshakes >= HANDSHAKES_REFUSED_MAX) throw new BusFault('forbidden', `NATS refuses ${signsInAs}`);
      if (clock.monotonicMs() > deadline) {
        throw new BusFault('disconnected', `NATS at ${servers.join(', ')} was not reachable for ${waitMs} ms`);
      }
    }
    return RECONNECT_WAIT_MS + Math.random() * RECONNECT_JITTER_MS;
  };

  const nats = await connect({
    servers,
    name: `${options.service}.${options.replica}`,
    authenticator: (nonce) => {
      if (!everConnected) handshakes += 1;
      return login(nonce);
    },
    ...(tls ? { tls: {} } : {}),
    inboxPrefix: inboxPrefix(options.service),
    noAsyncTraces: true,
    timeout: clock.timeoutMs(DIAL_MS),
    waitOnFirstConnect: true,
    reconnect: true,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler,
    pingInterval: clock.timeoutMs(PING_INTERVAL_MS),
    maxPingOut: PINGS_UNANSWERED_MAX,
    noRandomize: false,
    noEcho: false,
    pedantic: false,
    verbose: false,
  });
  everConnected = true;
  return nats;
}

interface BusUrl {
  readonly servers: string[];
  readonly login: Authenticator;
  /** For the error of a refused handshake. */
  readonly signsInAs: string;
  readonly tls: boolean;
}

function readUrl(url: string): BusUrl {
  const match =
    /^(nats|tls):\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/?]+)\/?(?:\?credentials=([^&#]+))?$/.exec(url) ?? undefined;
  const [, scheme, user, password, hosts = '', file] = match ?? [];
  if (match === undefined || (user !== undefined && file !== undefined)) {
    throw new BusFault(
      'fault',
      'the bus URL is not nats://user:password@host:port[,host:port…] or nats://host:port[,host:port…]?credentials=FILE',
    );
  }
  const servers = hosts.split(',');
  const tls = scheme === 'tls';
  if (file !== undefined) {
    const path = decodeURIComponent(file);
    return { servers, login: signInWithFile(path), signsInAs: `the credentials in ${path}`, tls };
  }
  const name = decodeURIComponent(user ?? '');
  const pass = decodeURIComponent(password ?? '');
  return { servers, login: () => ({ user: name, pass }), signsInAs: `the user ${name}`, tls };
}

/**
 * Signs in with a credentials file (JWT and NKEY seed, as `nsc` writes them). Reads the file before
 * each handshake, because credentials expire and are replaced while the process runs. A file that
 * cannot be read then leaves the previous credentials in use.
 */
function signInWithFile(path: string): Authenticator {
  let credentials = readCredentials(path);
  return (nonce) => {
    try {
      credentials = readCredentials(path);
    } catch {
      // The previous ones are tried.
    }
    return credsAuthenticator(credentials)(nonce);
  };
}

function readCredentials(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    throw new BusFault('fault', `the NATS credentials in ${path} cannot be read (${code})`);
  }
}

interface Listeners<T> {
  add(listener: (value: T) => void): () => void;
  call(value: T): void;
}

function makeListeners<T>(log: BusLog): Listeners<T> {
  const listeners = new Set<(value: T) => void>();
  return {
    add: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    call: (value) => {
      for (const listener of [...listeners]) {
        try {
          listener(value);
        } catch (error) {
          log.error({ error }, 'a listener of the bus connection failed');
        }
      }
    },
  };
}
