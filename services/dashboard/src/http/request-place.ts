import { AGENT_CHARS_MAX, type RequestOrigin } from '@gateway/contracts/messages';
import type { Request, Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HeldBytes, Places } from './places.js';

/** Limits that all requests of one listener share. */
export interface ListenerPlaces {
  /** For requests whose body has arrived, until the response is sent. */
  readonly requests: Places;
  /** For files, which last as long as the client needs to read them. */
  readonly files: Places;
  /** For streams from an edge, which last as long as the model writes. */
  readonly streams: Places;
  readonly bodies: HeldBytes;
}

const PLACES = new WeakMap<IncomingMessage, RequestPlace>();

/**
 * The places and memory that one request takes from its listener. Both are released when the
 * response is complete or the client disconnects.
 */
export class RequestPlace {
  /** The client's network. */
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
   * Takes a place to process the request, and waits for one as the bounds allow. Returns false if
   * no place became free, `gone` if the client disconnected.
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

  /** Releases the place before the response, while the body is being read. */
  release(): void {
    this.#taken?.release(this.client);
    this.#taken = null;
  }

  /** Exchanges the request's place for one of a file or stream. Returns false if none is free. */
  moveTo(kind: 'files' | 'streams'): boolean {
    const places = this.#places[kind];
    if (this.#isClosed || !places.tryTake(this.client)) return false;
    this.release();
    this.#taken = places;
    return true;
  }

  /** Sets the number of bytes that the body holds. Returns false if they exceed the bound. */
  hold(bytes: number): boolean {
    if (this.#isClosed || !this.#places.bodies.take(bytes - this.#heldBytes)) return false;
    this.#heldBytes = bytes;
    return true;
  }
}

/** Returns the place of a request that came through a listener. */
export function findPlace(request: IncomingMessage): RequestPlace {
  const place = PLACES.get(request);
  if (place === undefined) throw new Error('the request did not come through a listener');
  return place;
}

/** Returns the origin of a request for the audit log. */
export function readOrigin(request: Request, response: Response): RequestOrigin {
  return {
    client: findPlace(request).client,
    agent: request.get('user-agent')?.slice(0, AGENT_CHARS_MAX) || null,
    requestId: response.locals['requestId'] as string,
  };
}
