import {
  clientNetwork,
  closeServer,
  containerMemoryBytes,
  createHttpServer,
  hasValidHost,
  listen,
  PlacesByClient,
} from '@gateway/service-kit';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { breakOff } from './break-off.js';
import { HeldBytes, Places } from './places.js';
import { RequestPlace, type ListenerPlaces } from './request-place.js';

/** Requests that are worked on at once. */
export const REQUESTS_OPEN_MAX = 128;
const CONNECTIONS_MAX = 512;
/**
 * With a trusted proxy, whose connections are nobody's: one that passes heads on as they come opens
 * many.
 */
const PROXY_CONNECTIONS_MAX = 4_096;
/** Files and streams of one listener: they last, and have places of their own. */
const FILES_MAX = 32;
const STREAMS_MAX = 64;
/** Requests of one client that wait for a place of its own, and how long. */
const WAITING_MAX = 32;
const WAIT_MS_MAX = 5_000;
/** What all bodies of a listener hold: an eighth of the container's memory, at most this. */
const BODIES_BYTES_MAX = 64 * 1024 * 1024;
const BODIES_SHARE = 8;
/** A whole request with its body. */
export const REQUEST_MS_MAX = 30_000;
/**
 * An answer of which the client takes no byte for so long is given up, and its connection with it.
 */
const STALLED_MS_MAX = 60_000;
const HTTP_BOUNDS = {
  keepAliveMs: 75_000,
  headMsMax: 10_000,
  requestMsMax: REQUEST_MS_MAX,
  headBytesMax: 16 * 1024,
  headersMax: 100,
};

/** What one client's network has of a listener at a time. */
export interface ClientBounds {
  readonly connections: number;
  /** Heads that came and are not answered, those whose body is awaited among them. */
  readonly requests: number;
  /** Those that are worked on. */
  readonly worked: number;
  readonly files: number;
  readonly streams: number;
}

export interface ListenerParts {
  readonly host: string;
  readonly port: number;
  readonly perClient: ClientBounds;
  /**
   * Trusted proxies before the listener that append to X-Forwarded-For. With any of them a
   * connection is the proxy's, and only requests are counted by client.
   */
  readonly proxies: number;
  /** STALLED_MS_MAX when absent, for tests. */
  readonly stalledMsMax?: number | undefined;
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** Answers a request for which there is no room, or whose head is not valid HTTP/1.1. */
  refuse(why: 'busy' | 'host', request: IncomingMessage, response: ServerResponse): void;
  /** The bytes that answer what is no HTTP request; the connection is closed after them. */
  brokenAnswer(): string;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Requests that are not answered yet. */
  requestsOpen(): number;
  /** Bytes of memory that their bodies hold. */
  bodyBytesHeld(): number;
  /** No new connections, running requests end within `timeoutMs`, then everything is closed. */
  close(timeoutMs: number): Promise<void>;
}

/** A listener with every bound stated. Resolves when it takes connections. */
export async function openListener(parts: ListenerParts): Promise<Listener> {
  const { host, port, perClient, proxies, serve, refuse, brokenAnswer } = parts;
  const stalledMsMax = parts.stalledMsMax ?? STALLED_MS_MAX;
  const places = makePlaces(perClient);
  const requestsOf = new PlacesByClient({ max: perClient.requests, keysMax: PROXY_CONNECTIONS_MAX });
  let open = 0;
  let stopping = false;
  const server = createHttpServer(
    { ...HTTP_BOUNDS, connectionsMax: proxies === 0 ? CONNECTIONS_MAX : PROXY_CONNECTIONS_MAX },
    (request, response) => {
      if (stopping) response.setHeader('connection', 'close');
      endWhenStalled(response, stalledMsMax);
      if (!hasValidHost(request)) {
        response.setHeader('connection', 'close');
        refuse('host', request, response);
        return;
      }
      const client = clientNetwork(request.socket.remoteAddress, forwardedFor(request), proxies);
      if (!requestsOf.take(client)) {
        response.setHeader('connection', 'close');
        refuse('busy', request, response);
        return;
      }
      open += 1;
      response.once('close', () => {
        open -= 1;
        requestsOf.release(client);
        if (stopping && open === 0) server.closeAllConnections();
      });
      new RequestPlace(request, response, places, client);
      serve(request, response);
    },
  );
  if (proxies === 0) boundConnections(server, perClient.connections);
  server.on('clientError', (_error, socket) => {
    // Node's own name for the answer that is being sent.
    const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null };
    if (!socket.writable || answer?.headersSent === true) socket.destroy();
    else socket.end(brokenAnswer());
  });
  return {
    ...(await listen(server, { host, port })),
    requestsOpen: () => open,
    bodyBytesHeld: () => places.bodies.held,
    async close(timeoutMs) {
      stopping = true;
      await closeServer(server, open === 0 ? 0 : timeoutMs);
    },
  };
}

function makePlaces({ worked, files, streams }: ClientBounds): ListenerPlaces {
  const share = Math.floor((containerMemoryBytes() ?? Infinity) / BODIES_SHARE);
  const wait = { waitingPerClient: WAITING_MAX, waitMs: WAIT_MS_MAX };
  const noWait = { waitingPerClient: 0, waitMs: 0 };
  return {
    requests: new Places({ all: REQUESTS_OPEN_MAX, perClient: worked, ...wait }),
    files: new Places({ all: FILES_MAX, perClient: files, ...noWait }),
    streams: new Places({ all: STREAMS_MAX, perClient: streams, ...noWait }),
    bodies: new HeldBytes(Math.min(BODIES_BYTES_MAX, share)),
  };
}

function forwardedFor(request: IncomingMessage): string | undefined {
  return request.headers['x-forwarded-for'] as string | undefined;
}

/** Connections of one network above the bound are closed as they come. */
function boundConnections(server: Server, max: number): void {
  const connectionsOf = new PlacesByClient({ max, keysMax: CONNECTIONS_MAX });
  server.on('connection', (socket: Socket) => {
    const client = clientNetwork(socket.remoteAddress, undefined, 0);
    if (!connectionsOf.take(client)) {
      socket.destroy();
      return;
    }
    socket.once('close', () => connectionsOf.release(client));
  });
}

/**
 * Silence while the answer is made, or between two pieces of it, is no stall: only bytes that wait
 * for the client are one.
 */
function endWhenStalled(response: ServerResponse, stalledMsMax: number): void {
  response.setTimeout(stalledMsMax, () => {
    if (response.writableLength > 0) breakOff(response);
    else response.socket?.setTimeout(stalledMsMax);
  });
}
