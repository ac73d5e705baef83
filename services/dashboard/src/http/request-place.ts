import { AGENT_CHARS_MAX, type RequestOrigin } from '@gateway/contracts/messages';
import type { Request, Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HeldBytes, Places } from './places.js';

/** What the requests of one listener share. */
export interface ListenerPlaces {
  /** Of requests whose body is there, until they are answered. */
  readonly requests: Places;
  /** Of files, which last as long as their client takes. */
  readonly files: Places;
  /** Of answers that come from an edge, which last as long as the model writes. */
  readonly streams: Places;
  readonly bodies: HeldBytes;
}

const PLACES = new WeakMap<IncomingMessage, RequestPlace>();

/**
 * What one request takes of its listener. All of it is given back when the answer is complete, or
 * its client has gone.
 */
export class RequestPlace {
  /** The network that it comes from. */
  readonly client: string;
  readonly #places: ListenerPlaces;
  #taken: Places | null = null;
  #heldBytes = 0;
  #isClosed = false;

  constructor(request: IncomingMessage, response: ServerResponse, places: ListenerPlaces, client: string) {
    this.#places = places;
    this.client = client;
    response.once('close', () => {
      this.#isClosed = true;
      this.release();
      this.#places.bodies.release(this.#heldBytes);
      this.#heldBytes = 0;
    });
    PLACES.set(request, this);
  }

  /**
   * Whether there is a place to work on the request; waits for it at most as the bounds say.
   * `gone`: the client has left.
   */
  async take(): Promise<boolean | 'gone'> {
    const { requests } = this.#places;
    if (this.#taken !== null) return true;
    if (!(await requests.take(this.client))) return false;
    if (this.#isClosed) {
      requests.release(this.client);
      return 'gone';
    }
    this.#taken = requests;
    return true;
  }

  /** Gives the place back before the answer: while a body is read. */
  release(): void {
    this.#taken?.release(this.client);
    this.#taken = null;
  }

  /** Leaves the place of a request for one of answers that last; false: there is none. */
  moveTo(kind: 'files' | 'streams'): boolean {
    const places = this.#places[kind];
    if (this.#isClosed || !places.tryTake(this.client)) return false;
    this.release();
    this.#taken = places;
    return true;
  }

  /** Counts what the request's body holds now, in bytes; false: there is no room for it. */
  hold(bytes: number): boolean {
    if (this.#isClosed || !this.#places.bodies.take(bytes - this.#heldBytes)) return false;
    this.#heldBytes = bytes;
    return true;
  }
}

/** That of a request that came through a listener. */
export function placeOf(request: IncomingMessage): RequestPlace {
  const place = PLACES.get(request);
  if (place === undefined) throw new Error('the request came through no listener');
  return place;
}

/** Where a request comes from, as the audit log has it. */
export function originOf(request: Request, response: Response): RequestOrigin {
  return {
    client: placeOf(request).client,
    agent: request.get('user-agent')?.slice(0, AGENT_CHARS_MAX) || null,
    requestId: response.locals['requestId'] as string,
  };
}
