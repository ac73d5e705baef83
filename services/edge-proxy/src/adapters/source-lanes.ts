import { buildConnector, Client, type Dispatcher } from 'undici';
import type { SourceExchange, SourceReader, SourceRequest, SourceSender } from '../ports.js';

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

/**
 * Connections to sources. One undici client is one connection here: the set of idle ones is known, so taking one costs
 * the same whatever runs, the most recently used is taken first, and a request can ask for a fresh one.
 */
export class SourceLanes implements SourceSender {
  readonly #origins = new Map<string, OriginLanes>();

  send(request: SourceRequest, reader: SourceReader): SourceExchange {
    let lanes = this.#origins.get(request.origin);
    if (lanes === undefined) this.#origins.set(request.origin, (lanes = new OriginLanes(request.origin)));
    const lane = lanes.take(request.freshConnection);
    if (lane !== null) return new Exchange(lanes, lane, request, reader);
    queueMicrotask(() =>
      reader.failed({ kind: 'unreachable', reused: false, reason: `${LANES_PER_ORIGIN_MAX} connections are in use` }),
    );
    return { pause: () => undefined, resume: () => undefined, abort: () => undefined };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#origins.values()].map((lanes) => lanes.close()));
    this.#origins.clear();
  }
}

/** One connection that serves one request at a time; it connects at its first request and again when it was closed. */
interface Lane {
  readonly client: Client;
  /** Answers on the present connection. */
  answers: number;
  isIdle: boolean;
}

class OriginLanes {
  readonly #origin: string;
  readonly #connect: ReturnType<typeof buildConnector>;
  readonly #all = new Set<Lane>();
  /** The most recently used is last. */
  readonly #idle: Lane[] = [];

  constructor(origin: string) {
    this.#origin = origin;
    this.#connect = buildConnector({
      timeout: CONNECT_TIMEOUT_MS,
      maxCachedSessions: TLS_SESSIONS_MAX,
      allowH2: false,
      noDelay: true,
      keepAlive: true,
      autoSelectFamily: true,
    });
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
      connect: this.#connect,
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
    const lane: Lane = { client, answers: 0, isIdle: false };
    client.on('disconnect', () => {
      lane.answers = 0;
      if (lane.isIdle) this.drop(lane);
    });
    this.#all.add(lane);
    return lane;
  }
}

class Exchange implements SourceExchange, Dispatcher.DispatchHandler {
  readonly #lanes: OriginLanes;
  readonly #lane: Lane;
  readonly #reader: SourceReader;
  #controller: Dispatcher.DispatchController | null = null;
  #isReused = false;
  #hasAnswerBegun = false;
  #isOver = false;

  constructor(lanes: OriginLanes, lane: Lane, request: SourceRequest, reader: SourceReader) {
    this.#lanes = lanes;
    this.#lane = lane;
    this.#reader = reader;
    const { path, headers, body } = request;
    lane.client.dispatch({ method: 'POST', path, headers: headers as string[], body, idempotent: false }, this);
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    if (!this.#isOver) this.#controller?.resume();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#lanes.drop(this.#lane);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isReused = this.#lane.answers > 0;
    if (!this.#isOver) this.#reader.sent();
  }

  onResponseStarted(): void {
    this.#hasAnswerBegun = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status >= 200 && !this.#isOver) this.#reader.head(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isOver) this.#reader.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#lanes.giveBack(this.#lane);
    this.#reader.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#lanes.drop(this.#lane);
    const kind = this.#controller === null ? 'unreachable' : this.#hasAnswerBegun ? 'broken' : 'unanswered';
    const code = 'code' in error ? String(error.code) : error.name;
    this.#reader.failed({ kind, reused: this.#isReused, reason: code });
  }
}
