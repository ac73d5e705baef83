import { gatewayError, refusalError, type ErrorContext } from '@gateway/contracts/errors';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { closeServer, createHttpServer, type Clock, type Logger, type TimerClock } from '@gateway/service-kit';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { formatErrorBody, writeError } from './write-error.js';
import type { EndpointStyle } from '../formats/endpoints.js';
import type { ClientRequest } from '../ports.js';
import { answerBrokenRequest, TOO_SLOW, writeRaw } from './answer-broken-request.js';
import type { ResponseState } from './client-answer.js';
import { ClientConnections } from './client-connections.js';
import { findHeadProblem } from './broken-head.js';
import type { HttpLimits } from './http-limits.js';
import { HttpRequest, buildIdHeaders } from './http-request.js';
import { readHead } from './read-head.js';
import type { Route, RouteTable } from './routes.js';

/**
 * Headers that Node accepts above the limit, so that the edge can count them. Node drops headers
 * above its own maximum silently.
 */
const HEADERS_ROOM = 64;

export interface ServeParts {
  readonly routes: RouteTable;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly timers: TimerClock;
  readonly errorContext: ErrorContext;
  readonly log: Logger;
  /** Called when a handler threw, which is a fault of the edge. */
  readonly onFault: (error: unknown, requestId: string) => void;
  /** Called when a connection was closed because its client network has the maximum number. */
  readonly onConnectionRefused: () => void;
}

export interface HttpServer {
  readonly server: Server;
  /** Number of requests whose route has not ended. */
  requestsOpen(): number;
  /** Number of responses that are not fully sent. Some belong to routes that have ended. */
  answersOpen(): number;
  connectionsOpen(): number;
  /**
   * Stops accepting connections. Requests on open connections are still served; their responses
   * have `connection: close`, so that a client that is sending a request is not reset.
   */
  beginDrain(): void;
  /**
   * Closes connections without an open request. Resolves when all are closed. Destroys the
   * remaining ones after `timeoutMs`.
   */
  close(timeoutMs: number): Promise<void>;
}

/** Creates the public HTTP server. A path outside the route table is an unsupported endpoint. */
export function makeHttpServer(parts: ServeParts): HttpServer {
  const { routes, limits, clock, timers, errorContext } = parts;
  const answering: ResponseState = { isDraining: false, stalledMs: limits.stalledMs };
  const noEndpoint = refusalError('unsupported_endpoint', {}, errorContext);
  const headless = { newId: () => makeUuidV7(clock.nowMs()), styleOf: routes.styleOf, noEndpoint };
  const connections = new ClientConnections({
    limits,
    timers,
    onSlowBody: (connection) => answerBrokenRequest(connection.socket, TOO_SLOW, connection, headless),
    onRefused: parts.onConnectionRefused,
  });
  let requestsOpen = 0;

  const serve = (incoming: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void => {
    const { socket } = incoming;
    const connection = connections.get(socket);
    // The request arrived in one packet with a request that closed its connection.
    if (socket.destroyed || connection === undefined) return;
    const url = incoming.url ?? '';
    const question = url.indexOf('?');
    const path = question < 0 ? url : url.slice(0, question);
    const query = question < 0 ? '' : url.slice(question + 1);
    const style = routes.styleOf(path);
    const { proxies } = limits;
    const exchange = { clock, answering, connection, proxies, incoming, response, style, query, awaitsContinue };
    const request = new HttpRequest(exchange);
    const { answer } = request;
    connection.add(answer);
    if (connection.open > limits.pipelinedMax) return void socket.destroy();
    const problem = findHeadProblem(incoming.httpVersion, incoming.rawHeaders, limits.headersMax);
    if (problem !== null) {
      answer.closeConnection();
      const error = gatewayError('invalid_request', problem.text, { status: problem.status });
      return writeError(answer, error, request.id, style);
    }
    const route = routes.find(incoming.method ?? '', path);
    // In a later turn: malformed bytes behind this request in the same packet close the connection.
    if (route === undefined) return void setImmediate(() => writeError(answer, noEndpoint, request.id, style));
    forgetHead(incoming);
    requestsOpen += 1;
    void run(parts, route, request, style, () => {
      requestsOpen -= 1;
    });
  };

  const server = createHttpServer({ ...limits, headersMax: limits.headersMax + HEADERS_ROOM });
  server.on('connection', (socket) => connections.add(socket));
  server.on('request', (incoming, response) => serve(incoming, response, false));
  server.on('checkContinue', (incoming, response) => serve(incoming, response, true));
  server.on('checkExpectation', (incoming, response) => serve(incoming, response, false));
  server.on('connect', (incoming: IncomingMessage, socket: Duplex) => {
    const id = headless.newId();
    const style = routes.styleOf(incoming.url ?? '');
    const ids = buildIdHeaders(id, readHead(incoming.rawHeaders).requestId || id, style);
    // Node has detached this connection from its server.
    socket.on('error', () => undefined);
    socket.resume();
    writeRaw(socket, noEndpoint.status, formatErrorBody(noEndpoint, id, style), ids);
  });
  server.on('clientError', (error: Error, socket: Duplex) => {
    answerBrokenRequest(socket, error, connections.get(socket), headless);
  });

  return {
    server,
    requestsOpen: () => requestsOpen,
    answersOpen: () => connections.answersOpen,
    connectionsOpen: () => connections.size,
    beginDrain: () => {
      answering.isDraining = true;
      // node:http's `close` would also close idle connections and stop the check for overdue
      // requests.
      NetServer.prototype.close.call(server);
    },
    close: (timeoutMs) => {
      connections.closeIdle();
      return closeServer(server, timeoutMs);
    },
  };
}

/** Drops the headers. Node would keep each of their texts until the stream ends. */
function forgetHead(incoming: IncomingMessage): void {
  incoming.rawHeaders = [];
  incoming.headers = {};
}

async function run(
  parts: ServeParts,
  route: Route,
  request: ClientRequest,
  style: EndpointStyle,
  ended: () => void,
): Promise<void> {
  try {
    await route(request);
  } catch (error) {
    parts.onFault(error, request.id);
    if (request.answer.hasBegun) request.answer.cut(null);
    else writeError(request.answer, parts.routes.fault, request.id, style);
  } finally {
    ended();
  }
}
