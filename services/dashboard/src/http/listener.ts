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
import { abortResponse } from './send-file.js';
import { HeldBytes, Places } from './places.js';
import { RequestPlace, type ListenerPlaces } from './request-place.js';

/** Most requests that are processed concurrently. */
export const REQUESTS_OPEN_MAX = 128;
const CONNECTIONS_MAX = 512;
/**
 * Connection limit behind a trusted proxy. Connections are not counted per client there, and a
 * proxy that forwards request heads unbuffered opens many.
 */
const PROXY_CONNECTIONS_MAX = 4_096;
/**
 * Most files and streams that one listener sends concurrently. They last longer than other
 * requests, so they have separate places.
 */
const FILES_MAX = 32;
const STREAMS_MAX = 64;
/** Most requests of one client that wait for a place, and the longest wait. */
const WAITING_MAX = 32;
const WAIT_MS_MAX = 5_000;
/** Memory for request bodies: an eighth of the container's memory, at most this. */
const BODIES_BYTES_MAX = 64 * 1024 * 1024;
const BODIES_SHARE = 8;
/** Timeout for receiving a request with its body. */
export const REQUEST_MS_MAX = 30_000;
/** Timeout after which a response is aborted, with its connection, if the client reads no byte. */
const STALLED_MS_MAX = 60_000;
const HTTP_BOUNDS = {
  keepAliveMs: 75_000,
  headMsMax: 10_000,
  requestMsMax: REQUEST_MS_MAX,
  headBytesMax: 16 * 1024,
  headersMax: 100,
};

/** Bounds for the network of one client on a listener. */
export interface ClientBounds {
  readonly connections: number;
  /** Requests without a response yet, including those whose body is still arriving. */
  readonly requests: number;
  /** Requests that are being processed. */
  readonly worked: number;
  readonly files: number;
  readonly streams: number;
}

export interface ListenerParts {
  readonly host: string;
  readonly port: number;
  readonly perClient: ClientBounds;
  /**
   * Number of trusted proxies in front of the listener that append to X-Forwarded-For. Above 0,
   * connections belong to the proxy, and only requests are counted per client.
   */
  readonly proxies: number;
  /** Default: STALLED_MS_MAX. Tests set a shorter one. */
  readonly stalledMsMax?: number | undefined;
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** Refuses a request because no place is free, or its Host header is invalid. */
  refuse(why: 'busy' | 'host', request: IncomingMessage, response: ServerResponse): void;
  /** Returns the response to input that is not HTTP. The connection closes after it. */
  brokenAnswer(): string;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Number of requests without a response yet. */
  requestsOpen(): number;
  /** Bytes of memory that request bodies hold. */
  bodyBytesHeld(): number;
  /** Stops accepting, waits up to `timeoutMs` for running requests, then closes everything. */
  close(timeoutMs: number): Promise<void>;
}

/** Opens a listener with explicit bounds. Resolves when it accepts connections. */
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
    // Node's internal property for the response that is being sent.
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

/** Closes new connections of a network above the bound. */
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
 * Aborts a response whose client stops reading. Silence alone is allowed while the response is
 * being computed or between two chunks; only unread bytes count as a stall.
 */
function endWhenStalled(response: ServerResponse, stalledMsMax: number): void {
  response.setTimeout(stalledMsMax, () => {
    if (response.writableLength > 0) abortResponse(response);
    else response.socket?.setTimeout(stalledMsMax);
  });
}
