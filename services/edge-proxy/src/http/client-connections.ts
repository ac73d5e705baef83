import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { EphemeralMap, OnDemandTimer, PlacesByClient, clientNetwork, type TimerClock } from '@gateway/service-kit';
import type { HttpResponse } from './client-answer.js';
import type { HttpLimits } from './http-limits.js';
import { BodyPace } from './read-body.js';

/** Longest interval between checks of body pace, and checks per idle limit if that is short. */
const PACE_CHECK_MS_MAX = 2_500;
const PACE_CHECKS_PER_LIMIT = 4;

export interface ConnectionsParts {
  readonly limits: HttpLimits;
  readonly timers: TimerClock;
  /** Called when a body is too slow. The request must be ended. */
  readonly onSlowBody: (connection: ClientConnection) => void;
  /** Called when a connection was closed because its client network has the maximum number. */
  readonly onRefused: () => void;
}

/** All client connections, with the limits that node:http does not have. */
export class ClientConnections {
  readonly #parts: ConnectionsParts;
  readonly #all = new EphemeralMap<Duplex, ClientConnection>();
  /** Null behind proxies, where all clients share one address. */
  readonly #places: PlacesByClient | null;
  readonly #timer: OnDemandTimer;

  constructor(parts: ConnectionsParts) {
    this.#parts = parts;
    const { proxies, clientConnectionsMax: max, connectionsMax: keysMax, bodyIdleMsMax } = parts.limits;
    this.#places = proxies === 0 ? new PlacesByClient({ max, keysMax }) : null;
    const everyMs = Math.min(PACE_CHECK_MS_MAX, Math.ceil(bodyIdleMsMax / PACE_CHECKS_PER_LIMIT));
    const waits = (): boolean => this.#all.size > 0;
    this.#timer = new OnDemandTimer(everyMs, waits, () => this.#checkPaces(), parts.timers);
  }

  get size(): number {
    return this.#all.size;
  }

  /** Number of responses that are not fully sent. */
  get answersOpen(): number {
    let open = 0;
    for (const connection of this.#all.values()) open += connection.open;
    return open;
  }

  /**
   * Closes connections without an open request. Node's own function also closes connections that
   * still have response bytes to send.
   */
  closeIdle(): void {
    for (const { socket, isIdle } of this.#all.values()) if (isIdle) socket.destroy();
  }

  /** Adds a new connection, or closes it if its client network has the maximum number. */
  add(socket: Socket): void {
    const connection = new ClientConnection(socket);
    if (this.#places?.take(connection.client) === false) {
      this.#parts.onRefused();
      socket.destroy();
      return;
    }
    this.#all.set(socket, connection);
    socket.once('close', () => {
      this.#all.delete(socket);
      this.#places?.release(connection.client);
    });
    this.#timer.begin();
  }

  /** Returns undefined if the connection is closed. */
  get(socket: Duplex): ClientConnection | undefined {
    return this.#all.get(socket);
  }

  #checkPaces(): void {
    const { limits, timers, onSlowBody } = this.#parts;
    const nowMs = timers.monotonicMs();
    for (const connection of this.#all.values()) {
      if (connection.isBodyTooSlow(nowMs, limits)) onSlowBody(connection);
    }
  }
}

/** One client connection and its unfinished responses, in the order of their requests. */
export class ClientConnection {
  readonly socket: Socket;
  /** The client's address, and its network. */
  readonly peer: string | undefined;
  readonly client: string;
  /**
   * At most a few entries. An array, because the tables of a Set would keep responses in memory
   * long after their end (see EphemeralMap).
   */
  #answers: HttpResponse[] = [];
  #last: HttpResponse | null = null;
  /** Bytes received when the last response was complete. */
  #bytesAnswered = 0;
  /** The pace of the body that was arriving at the last check. */
  #pace: BodyPace | null = null;

  constructor(socket: Socket) {
    this.socket = socket;
    this.peer = socket.remoteAddress;
    this.client = clientNetwork(this.peer, undefined, 0);
    // Node reports only the response that is being sent, not those that wait for it.
    socket.once('close', () => {
      const answers = this.#answers;
      this.#answers = [];
      for (const answer of answers) answer.connectionClosed();
    });
  }

  /** Number of requests whose responses are not fully sent. */
  get open(): number {
    return this.#answers.length;
  }

  /**
   * Whether no request is open or arriving. A request whose first bytes arrived before the last
   * response ended is not detected.
   */
  get isIdle(): boolean {
    return this.open === 0 && this.socket.bytesRead === this.#bytesAnswered;
  }

  /** The response to the last request whose head has arrived, or null if it has ended. */
  get last(): HttpResponse | null {
    return this.#last !== null && this.#answers.includes(this.#last) ? this.#last : null;
  }

  add(answer: HttpResponse): void {
    this.#answers.push(answer);
    this.#last = answer;
    answer.onClosed(() => {
      const at = this.#answers.indexOf(answer);
      if (at >= 0) this.#answers.splice(at, 1);
      this.#bytesAnswered = this.socket.bytesRead;
    });
  }

  /**
   * Returns whether a body is arriving too slowly. Called periodically. A request whose response
   * has begun has other limits.
   */
  isBodyTooSlow(nowMs: number, limits: Pick<HttpLimits, 'bodyIdleMsMax' | 'bodyBytesPerSecondMin'>): boolean {
    const { last } = this;
    if (last === null || last.isRequestComplete || last.hasBegun) {
      this.#pace = null;
      return false;
    }
    const { bytesRead } = this.socket;
    if (this.#pace?.of !== last) this.#pace = new BodyPace(last, nowMs, bytesRead);
    return this.#pace.isTooSlow(nowMs, bytesRead, limits);
  }
}
