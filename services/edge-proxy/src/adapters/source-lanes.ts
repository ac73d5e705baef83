import { isPrivateHost, PrivateAddressError, publicLookup } from '@gateway/service-kit';
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { buildConnector, Client } from 'undici';
import type { SourceExchange, SourceFailure, SourceReader, SourceRequest, SourceSender } from '../ports.js';
import { goesThrough, proxyConnector, type UpstreamProxy } from './proxy-connector.js';
import { Exchange, type Lane, type LaneOwner } from './source-exchange.js';

/** Connections to one origin, idle ones included. A call above is told that the source is unreachable. */
const LANES_PER_ORIGIN_MAX = 16_384;
const CONNECT_TIMEOUT_MS = 10_000;
/** An idle connection is closed after this time, or earlier when the provider's Keep-Alive header says so. */
const IDLE_MS = 30_000;
const IDLE_MS_MAX = 600_000;
/** Closed this much earlier than the provider announced, so that no request meets a closing connection. */
const IDLE_MARGIN_MS = 2_000;
const HEADER_BYTES_MAX = 32 * 1024;
const TLS_SESSIONS_MAX = 100;

export interface SourceLanesOptions {
  /** Connections to private and loopback addresses are made. Otherwise they are refused, literal or looked up. */
  readonly privateAllowed: boolean;
  /** The resolver of names; the system's unless stated. */
  readonly lookup?: LookupFunction;
  /** Providers are reached through it. It looks names up itself, and has to refuse private addresses itself. */
  readonly proxy?: UpstreamProxy | null;
}

/**
 * Connections to sources. One undici client is one connection here: the set of idle ones is known, so taking one costs
 * the same whatever runs, the most recently used is taken first, and a request can ask for a fresh one.
 */
export class SourceLanes implements SourceSender {
  readonly #options: SourceLanesOptions;
  readonly #origins = new Map<string, OriginLanes>();

  constructor(options: SourceLanesOptions) {
    this.#options = options;
  }

  send(request: SourceRequest, reader: SourceReader): SourceExchange {
    const lanes = this.#lanesOf(request.origin);
    if (lanes.privateHost !== null) {
      return failSoon(reader, { kind: 'private', reason: new PrivateAddressError(lanes.privateHost).message });
    }
    const lane = lanes.take(request.freshConnection);
    if (lane !== null) return new Exchange(lanes, lane, request, reader);
    return failSoon(reader, { kind: 'unreachable', reason: `${LANES_PER_ORIGIN_MAX} connections are in use` });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#origins.values()].map((lanes) => lanes.close()));
    this.#origins.clear();
  }

  #lanesOf(origin: string): OriginLanes {
    const known = this.#origins.get(origin);
    if (known !== undefined) return known;
    const lanes = new OriginLanes(origin, this.#options);
    this.#origins.set(origin, lanes);
    return lanes;
  }
}

/** Tells the reader after this call, as a connection would. */
function failSoon(reader: SourceReader, failure: Pick<SourceFailure, 'kind' | 'reason'>): SourceExchange {
  let isAborted = false;
  queueMicrotask(() => {
    if (!isAborted) reader.failed({ ...failure, reused: false });
  });
  return { pause: () => undefined, resume: () => undefined, abort: () => void (isAborted = true) };
}

class OriginLanes implements LaneOwner {
  /** Of an origin that no connection may be made to; a name may still turn out to be one when it is looked up. */
  readonly privateHost: string | null;
  readonly #origin: string;
  readonly #connect: buildConnector.connector;
  readonly #all = new Set<Lane>();
  /** The most recently used is last. */
  readonly #idle: Lane[] = [];

  constructor(origin: string, { privateAllowed, lookup = systemLookup, proxy = null }: SourceLanesOptions) {
    const { hostname } = new URL(origin);
    // An address that stands in the URL is never looked up.
    this.privateHost = !privateAllowed && isPrivateHost(hostname) ? hostname : null;
    this.#origin = origin;
    const connect = buildConnector({
      timeout: CONNECT_TIMEOUT_MS,
      maxCachedSessions: TLS_SESSIONS_MAX,
      allowH2: false,
      noDelay: true,
      keepAlive: true,
      autoSelectFamily: true,
      lookup: privateAllowed ? lookup : publicLookup(lookup),
    });
    this.#connect = proxy !== null && goesThrough(proxy, hostname) ? proxyConnector(proxy, connect) : connect;
  }

  take(fresh: boolean): Lane | null {
    const idle = fresh ? undefined : this.#idle.pop();
    if (idle !== undefined) {
      idle.isIdle = false;
      return idle;
    }
    return this.#all.size < LANES_PER_ORIGIN_MAX ? this.#make() : null;
  }

  giveBack(lane: Lane): void {
    lane.answers += 1;
    lane.isIdle = true;
    this.#idle.push(lane);
  }

  drop(lane: Lane): void {
    this.#all.delete(lane);
    if (lane.isIdle) this.#idle.splice(this.#idle.indexOf(lane), 1);
    lane.isIdle = false;
    lane.client.destroy(() => undefined);
  }

  async close(): Promise<void> {
    const all = [...this.#all];
    this.#all.clear();
    this.#idle.length = 0;
    await Promise.all(all.map(({ client }) => client.destroy()));
  }

  #make(): Lane {
    const client = new Client(this.#origin, {
      connect: (options, callback) =>
        this.#connect(options, (...result) => {
          // Heard before the client itself hears of it.
          result[1]?.once('error', () => (lane.wasReset = true));
          callback(...result);
        }),
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS_MAX,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
      // The call watches its own limits: one sweep for all calls instead of timers on each connection.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: HEADER_BYTES_MAX,
      strictContentLength: true,
      allowH2: false,
    });
    const lane: Lane = { client, answers: 0, wasReset: false, isIdle: false };
    client.on('disconnect', () => {
      lane.answers = 0;
      lane.wasReset = false;
      if (lane.isIdle) this.drop(lane);
    });
    this.#all.add(lane);
    return lane;
  }
}
