import { chatErrorBody, refusalError, type ErrorContext } from '@gateway/contracts/errors';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { Clock, Logger } from '@gateway/service-kit';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EndpointStyle } from '../domain/endpoints.js';
import type { ClientRequest } from '../ports.js';
import { answerBrokenRequest, writeRaw } from './answer-broken-request.js';
import { HttpAnswer, type Answering } from './client-answer.js';
import { makeFallThrough } from './fall-through.js';
import { readBody } from './read-body.js';
import { readHead } from './read-head.js';
import type { Route, RouteTable } from './routes.js';
import { writeError } from '../call/write-error.js';

/** Idle connections are kept longer than the minute that most load balancers do (behaviour §3). */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_MS_MAX = 60_000;
/** A whole request, 10 MB over a slow line included. */
const REQUEST_MS_MAX = 300_000;
const HEADER_BYTES_MAX = 32 * 1024;
const HEADERS_MAX = 200;
/** How often node looks for requests that are overdue. */
const OVERDUE_CHECK_MS = 5_000;

export interface ServeParts {
  readonly routes: RouteTable;
  readonly clock: Clock;
  readonly errorContext: ErrorContext;
  readonly log: Logger;
  /** A handler threw: a fault of the edge. */
  readonly onFault: (error: unknown, requestId: string) => void;
}

export interface HttpServer {
  readonly server: Server;
  /** Requests whose route has not ended. */
  requestsOpen(): number;
  /** Takes no new connections and closes those that are idle; running answers end with `connection: close`. */
  beginDrain(): void;
  /** Resolves when every connection is closed; destroys those that are left after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

/** The public listener: the raw path is looked up before Express sees anything (performance, point 2). */
export function makeHttpServer(parts: ServeParts): HttpServer {
  const answering: Answering = { isDraining: false };
  let requestsOpen = 0;
  /** The latest answer on each connection. */
  const answers = new WeakMap<Duplex, HttpAnswer>();

  const serve = (incoming: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void => {
    const { request, answer, path, style } = readRequest(parts, answering, incoming, response, awaitsContinue);
    answers.set(incoming.socket, answer);
    const route = parts.routes.find(incoming.method ?? '', path);
    if (route === undefined) return fallThrough(incoming, response, request, style);
    requestsOpen += 1;
    void run(parts, route, request, style).then(() => {
      requestsOpen -= 1;
    });
  };
  const fallThrough = makeFallThrough((request, style) => {
    writeError(request.answer, refusalError(1, {}, parts.errorContext), request.id, style);
  });

  const server = makeServer();
  server.on('request', (incoming, response) => serve(incoming, response, false));
  server.on('checkContinue', (incoming, response) => serve(incoming, response, true));
  server.on('checkExpectation', (incoming, response) => serve(incoming, response, false));
  server.on('connect', (incoming: IncomingMessage, socket: Duplex) => {
    const id = makeUuidV7(parts.clock.nowMs());
    const error = refusalError(1, {}, parts.errorContext);
    const ids = idHeadersOf(id, readHead(incoming.rawHeaders).requestId || id, 'chat');
    writeRaw(socket, error.status, chatErrorBody(error, id), ids);
  });
  server.on('clientError', (error: Error, socket: Duplex) => {
    // What broke may be the body of a request whose head was read: then its ids are known.
    const answer = answers.get(socket);
    const id = makeUuidV7(parts.clock.nowMs());
    answerBrokenRequest(socket, error, answer?.unusedIds ?? idHeadersOf(id, id, 'chat'), answer?.isOpen ?? false);
  });

  return {
    server,
    requestsOpen: () => requestsOpen,
    beginDrain: () => {
      answering.isDraining = true;
      server.close();
      server.closeIdleConnections();
    },
    close: (timeoutMs) => closeServer(server, timeoutMs),
  };
}

interface ReadRequest {
  readonly request: ClientRequest;
  readonly answer: HttpAnswer;
  readonly path: string;
  readonly style: EndpointStyle;
}

function readRequest(
  { routes, clock }: ServeParts,
  answering: Answering,
  incoming: IncomingMessage,
  response: ServerResponse,
  awaitsContinue: boolean,
): ReadRequest {
  const id = makeUuidV7(clock.nowMs());
  const headers = readHead(incoming.rawHeaders);
  const url = incoming.url ?? '';
  const question = url.indexOf('?');
  const path = question < 0 ? url : url.slice(0, question);
  const style = routes.styleOf(path);
  const idHeaders = (own: string) => idHeadersOf(own, headers.requestId || own, style);
  const hasBody = headers.contentLength !== 0;
  const answer = new HttpAnswer(incoming, response, { ids: idHeaders(id), answering, hasBody, awaitsContinue });
  const request: ClientRequest = {
    id,
    renewId() {
      request.id = makeUuidV7(clock.nowMs());
      answer.rename(idHeaders(request.id));
      return request.id;
    },
    headers,
    query: question < 0 ? '' : url.slice(question + 1),
    answer,
    readBody: (bytesMax) => {
      answer.sendContinue();
      return readBody(incoming, bytesMax);
    },
  };
  return { request, answer, path, style };
}

/** On every answer; on those of the messages paths also under the name that their client library reads. */
function idHeadersOf(own: string, clients: string, style: EndpointStyle): string[] {
  const ids = ['x-gateway-request-id', own, 'x-request-id', clients];
  return style === 'messages' ? [...ids, 'request-id', own] : ids;
}

async function run(parts: ServeParts, route: Route, request: ClientRequest, style: EndpointStyle): Promise<void> {
  try {
    await route(request);
  } catch (error) {
    parts.onFault(error, request.id);
    if (request.answer.hasBegun) request.answer.cut(null);
    else writeError(request.answer, parts.routes.fault, request.id, style);
  }
}

function makeServer(): Server {
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS_MAX,
    requestTimeout: REQUEST_MS_MAX,
    connectionsCheckingInterval: OVERDUE_CHECK_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    insecureHTTPParser: false,
    joinDuplicateHeaders: false,
    // Node would answer a missing Host itself, without the ids; nothing here depends on it.
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
  });
  server.maxHeadersCount = HEADERS_MAX;
  server.timeout = 0;
  return server;
}

async function closeServer(server: Server, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
