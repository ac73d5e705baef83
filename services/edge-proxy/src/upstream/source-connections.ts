import { PrivateAddressError } from '@gateway/service-kit';
import { Client, type buildConnector } from 'undici';
import type { SourceExchange, SourceFailure, SourceReader, SourceRequest, SourceSender } from '../ports.js';
import { connectorTo, refusedHost, type ConnectionRules } from './source-connector.js';
import { Exchange, type SourceConnection, type ConnectionOwner } from './source-exchange.js';

/** Connections to one origin, idle ones included. Above, the source counts as unreachable. */
const CONNECTIONS_PER_ORIGIN_MAX = 16_384;
/**
 * An idle connection is closed after this time, or earlier when the provider's Keep-Alive header
 * says so.
 */
const IDLE_MS = 30_000;
const IDLE_MS_MAX = 600_000;
/**
 * Closed this much earlier than the provider announced, so that no request meets a closing
 * connection.
 */
const IDLE_MARGIN_MS = 2_000;
const HEADER_BYTES_MAX = 32 * 1024;

/**
 * Connections to sources. One undici client is one connection here: the set of idle ones is known,
 * so taking one costs the same whatever runs, the most recently used is taken first, and a request
 * can ask for a fresh one.
 */
export class SourceConnections implements SourceSender {
  readonly #options: ConnectionRules;
  readonly #origins = new Map<string, OriginConnections>();

  constructor(options: ConnectionRules) {
    this.#options = options;
  }

  send(request: SourceRequest, reader: SourceReader): SourceExchange {
    const connections = this.#connectionsOf(request.origin);
    if (connections.privateHost !== null) {
      return failSoon(reader, { kind: 'private', reason: new PrivateAddressError(connections.privateHost).message });
    }
    const connection = connections.take(request.freshConnection);
    if (connection !== null) return new Exchange(connections, connection, request, reader);
    return failSoon(reader, { kind: 'unreachable', reason: `${CONNECTIONS_PER_ORIGIN_MAX} connections are in use` });
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

/** Fails after this call has returned, as a connection would. */
function failSoon(reader: SourceReader, failure: Pick<SourceFailure, 'kind' | 'reason'>): SourceExchange {
  let isAborted = false;
  queueMicrotask(() => {
    if (!isAborted) reader.failed({ ...failure, reused: false });
  });
  return { pause: () => undefined, resume: () => undefined, abort: () => void (isAborted = true) };
}

const nothing = (): void => undefined;

/**
 * The client takes a reset for the end of an answer that may end with its connection, and while it
 * is paused that fails an assertion, which ends the process. Under another code it is an error.
 */
function noteReset(connection: SourceConnection, error: Error): void {
  connection.wasReset = true;
  if ('code' in error && error.code === 'ECONNRESET') error.code = 'connection reset';
}

class OriginConnections implements ConnectionOwner {
  /** Set if the origin is a private address. A name is judged only when it is looked up. */
  readonly privateHost: string | null;
  readonly #origin: string;
  readonly #connect: buildConnector.connector;
  readonly #all = new Set<SourceConnection>();
  /** The most recently used is last. */
  readonly #idle: SourceConnection[] = [];

  constructor(origin: string, rules: ConnectionRules) {
    const { hostname } = new URL(origin);
    this.privateHost = refusedHost(hostname, rules);
    this.#origin = origin;
    this.#connect = connectorTo(hostname, rules);
  }

  take(fresh: boolean): SourceConnection | null {
    const idle = fresh ? undefined : this.#idle.pop();
    if (idle !== undefined) {
      idle.isIdle = false;
      return idle;
    }
    return this.#all.size < CONNECTIONS_PER_ORIGIN_MAX ? this.#make() : null;
  }

  giveBack(connection: SourceConnection): void {
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
          // These listeners run before the client's own.
          result[1]?.once('error', (error) => noteReset(connection, error));
          result[1]?.once('end', () => connection.onEnd());
          callback(...result);
        }),
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS_MAX,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
      // The call watches its own limits: one sweep for all calls instead of timers on each
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
