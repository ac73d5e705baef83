import { EphemeralMap, PlacesByClient, OnDemandTimer } from '@gateway/service-kit';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ClientConnection } from './client-connection.js';
import type { HttpLimits } from './http-limits.js';

/** Longest interval between checks of body pace, and checks per idle limit if that is short. */
const LOOK_MS_MAX = 2_500;
const LOOK_PART = 4;

export interface ConnectionsParts {
  readonly limits: HttpLimits;
  readonly monotonicMs: () => number;
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

  #look(): void {
    const { limits, monotonicMs, onSlowBody } = this.#parts;
    const nowMs = monotonicMs();
    for (const connection of this.#all.values()) {
      if (connection.isBodyTooSlow(nowMs, limits)) onSlowBody(connection);
    }
  }
}
