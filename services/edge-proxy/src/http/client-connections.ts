import { EphemeralMap, PlacesByClient, OnDemandTimer } from '@gateway/service-kit';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ClientConnection } from './client-connection.js';
import type { HttpLimits } from './http-limits.js';

/**
 * How often bodies are looked at, and the part of their idle time that their end may be late by.
 */
const LOOK_MS_MAX = 2_500;
const LOOK_PART = 4;

export interface ConnectionsParts {
  readonly limits: HttpLimits;
  readonly monotonicMs: () => number;
  /** A body comes too slowly: its request is to be ended. */
  readonly onSlowBody: (connection: ClientConnection) => void;
  /** One more of a client that has all that it may have: it was closed. */
  readonly onRefused: () => void;
}

/** All connections of clients, with what bounds them beside node's own limits. */
export class ClientConnections {
  readonly #parts: ConnectionsParts;
  readonly #all = new EphemeralMap<Duplex, ClientConnection>();
  /** Null behind proxies, where one address is everybody. */
  readonly #places: PlacesByClient | null;
  readonly #timer: OnDemandTimer;

  constructor(parts: ConnectionsParts) {
    this.#parts = parts;
    const { proxies, clientConnectionsMax: max, connectionsMax: keysMax, bodyIdleMsMax } = parts.limits;
    this.#places = proxies === 0 ? new PlacesByClient({ max, keysMax }) : null;
    const everyMs = Math.min(LOOK_MS_MAX, Math.ceil(bodyIdleMsMax / LOOK_PART));
    this.#timer = new OnDemandTimer(
      everyMs,
      () => this.#all.size > 0,
      () => this.#look(),
    );
  }

  get size(): number {
    return this.#all.size;
  }

  /** Answers that are not sent to their last byte. */
  get answersOpen(): number {
    let open = 0;
    for (const connection of this.#all.values()) open += connection.open;
    return open;
  }

  /**
   * Closes connections on which no request is open. (node's own way takes one for idle that has
   * bytes of an ended answer to send.)
   */
  closeIdle(): void {
    for (const { socket, isIdle } of this.#all.values()) if (isIdle) socket.destroy();
  }

  /** A connection was made; one above what its client may have is closed at once. */
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

  /** Undefined: it is closed. */
  get(socket: Duplex): ClientConnection | undefined {
    return this.#all.get(socket);
  }

  #look(): void {
    const { limits, monotonicMs, onSlowBody } = this.#parts;
    const nowMs = monotonicMs();
    for (const connection of this.#all.values()) {
      if (connection.isBodyTooSlow(nowMs, limits)) onSlowBody(connection);
    }
  }
}
