import { PrivateAddressError } from '@gateway/service-kit';
import { Client, type buildConnector } from 'undici';
import type { SourceAttempt, SourceFailure, SourceReader, SourceRequest, SourceSender } from '../ports.js';
import { makeConnector, findPrivateHost, type ConnectionRules } from './source-connector.js';
import { Exchange, type SourceConnection, type ConnectionOwner } from './source-exchange.js';

/** Most connections to one origin, idle ones included. Above, the source is unreachable. */
const CONNECTIONS_PER_ORIGIN_MAX = 16_384;
/**
 * Time after which an idle connection is closed, unless the provider's Keep-Alive header sets an
 * earlier one.
 */
const IDLE_MS = 30_000;
const IDLE_MS_MAX = 600_000;
/**
 * Closes an idle connection this much earlier than the provider announced, so that no request is
 * sent on a connection that is being closed.
 */
const IDLE_MARGIN_MS = 2_000;
const HEADER_BYTES_MAX = 32 * 1024;

/**
 * The connections to all sources. Each undici client holds exactly one connection. Since the list
 * of idle connections is kept here, taking one costs the same under any load, the most recently
 * used one is taken first, and a request can require a new connection.
 */
export class SourceConnections implements SourceSender {
  readonly #options: ConnectionRules;
  readonly #origins = new Map<string, OriginConnections>();

  constructor(options: ConnectionRules) {
    this.#options = options;
  }

  send(request: SourceRequest, reader: SourceReader): SourceAttempt {
    const connections = this.#connectionsOf(request.origin);
    if (connections.privateHost !== null) {
      return failLater(reader, { kind: 'private', reason: new PrivateAddressError(connections.privateHost).message });
    }
    const connection = connections.take(request.freshConnection);
    if (connection !== null) return new Exchange(connections, connection, request, reader);
    return failLater(reader, { kind: 'unreachable', reason: `${CONNECTIONS_PER_ORIGIN_MAX} connections are in use` });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#origins.values()].map((connections) => connections.close()));
    this.#origins.clear();
  }

  #connectionsOf(origin: string): OriginConnections {
    const known = this.#origins.get(origin);
    if (known !== undefined) return known;
    const connections = new OriginConnections(origin, this.#options);
    this.#origins.set(origin, connections);
    return connections;
  }
}

/** Reports the failure after send() has returned, as a real connection would. */
function failLater(reader: SourceReader, failure: Pick<SourceFailure, 'kind' | 'reason'>): SourceAttempt {
  let isAborted = false;
  queueMicrotask(() => {
    if (!isAborted) reader.failed({ ...failure, reused: false });
  });
  return { pause: () => undefined, resume: () => undefined, abort: () => void (isAborted = true) };
}

const nothing = (): void => undefined;

/**
 * Changes the code of a reset. For a body that ends with its connection, undici treats ECONNRESET
 * as a normal end; if the response is paused, that fails an assertion which ends the process. An
 * error with another code is reported as an error.
 */
function markReset(connection: SourceConnection, error: Error): void {
  connection.wasReset = true;
  if ('code' in error && error.code === 'ECONNRESET') error.code = 'connection reset';
}

class OriginConnections implements ConnectionOwner {
  /** The host if it is a private address, otherwise null. Names are checked when resolved. */
  readonly privateHost: string | null;
  readonly #origin: string;
  readonly #connect: buildConnector.connector;
  readonly #all = new Set<SourceConnection>();
  /** The most recently used connection is last. */
  readonly #idle: SourceConnection[] = [];

  constructor(origin: string, rules: ConnectionRules) {
    const { hostname } = new URL(origin);
    this.privateHost = findPrivateHost(hostname, rules);
    this.#origin = origin;
    this.#connect = makeConnector(hostname, rules);
  }

  take(fresh: boolean): SourceConnection | null {
    const idle = fresh ? undefined : this.#idle.pop();
    if (idle !== undefined) {
      idle.isIdle = false;
      return idle;
    }
    return this.#all.size < CONNECTIONS_PER_ORIGIN_MAX ? this.#make() : null;
  }

  release(connection: SourceConnection): void {
    connection.answers += 1;
    connection.onEnd = nothing;
    connection.isIdle = true;
    this.#idle.push(connection);
  }

  drop(connection: SourceConnection): void {
    this.#all.delete(connection);
    if (connection.isIdle) this.#idle.splice(this.#idle.indexOf(connection), 1);
    connection.isIdle = false;
    connection.client.destroy(() => undefined);
  }

  async close(): Promise<void> {
    const all = [...this.#all];
    this.#all.clear();
    this.#idle.length = 0;
    await Promise.all(all.map(({ client }) => client.destroy()));
  }

  #make(): SourceConnection {
    const client = new Client(this.#origin, {
      connect: (options, callback) =>
        this.#connect(options, (...result) => {
          // These listeners run before those of the client.
          result[1]?.once('error', (error) => markReset(connection, error));
          result[1]?.once('end', () => connection.onEnd());
          callback(...result);
        }),
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS_MAX,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
      // A single sweep enforces the time limits of all calls, which replaces two timers per
      // connection.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: HEADER_BYTES_MAX,
      strictContentLength: true,
      allowH2: false,
    });
    const connection: SourceConnection = { client, answers: 0, wasReset: false, isIdle: false, onEnd: nothing };
    client.on('disconnect', () => {
      connection.answers = 0;
      connection.wasReset = false;
      if (connection.isIdle) this.drop(connection);
    });
    this.#all.add(connection);
    return connection;
  }
}
