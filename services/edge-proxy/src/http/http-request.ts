import { makeUuidV7 } from '@gateway/contracts/ids';
import { clientNetwork, type Clock } from '@gateway/service-kit';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EndpointStyle } from '../formats/endpoints.js';
import type { BodyRead, ClientHeaders, ClientRequest } from '../ports.js';
import { HttpResponse, type ResponseState } from './client-answer.js';
import type { ClientConnection } from './client-connections.js';
import { readBody } from './read-body.js';
import { findForwardedFor, readHead } from './read-head.js';

export interface HttpRequestParts {
  readonly clock: Clock;
  readonly answering: ResponseState;
  readonly connection: ClientConnection;
  /** Number of trusted proxies before the edge. */
  readonly proxies: number;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly style: EndpointStyle;
  readonly query: string;
  /** Whether the client sends its body only after a 100 Continue. */
  readonly awaitsContinue: boolean;
}

/** A {@link ClientRequest} over one exchange of node:http. */
export class HttpRequest implements ClientRequest {
  readonly headers: ClientHeaders;
  readonly query: string;
  readonly answer: HttpResponse;
  id: string;
  readonly #incoming: IncomingMessage;
  readonly #clock: Clock;
  readonly #style: EndpointStyle;
  readonly #connection: ClientConnection;
  readonly #proxies: number;
  readonly #forwardedFor: string | undefined;

  constructor(parts: HttpRequestParts) {
    const { clock, answering, connection, proxies, incoming, response, style, query, awaitsContinue } = parts;
    this.#incoming = incoming;
    this.#clock = clock;
    this.#style = style;
    this.#connection = connection;
    this.#proxies = proxies;
    this.#forwardedFor = proxies === 0 ? undefined : findForwardedFor(incoming.rawHeaders);
    this.query = query;
    this.headers = readHead(incoming.rawHeaders);
    this.id = makeUuidV7(clock.nowMs());
    const hasBody = this.headers.contentLength !== 0;
    const ids = this.#idHeaders();
    this.answer = new HttpResponse(incoming, response, { ids, style, answering, hasBody, awaitsContinue });
  }

  get client(): string {
    const { peer, client } = this.#connection;
    return this.#proxies === 0 ? client : clientNetwork(peer, this.#forwardedFor, this.#proxies);
  }

  renewId(): string {
    this.id = makeUuidV7(this.#clock.nowMs());
    this.answer.rename(this.#idHeaders());
    return this.id;
  }

  readBody(bytesMax: number, account: string | null): Promise<BodyRead> {
    this.answer.sendContinue();
    return readBody(this.#incoming, { announced: this.headers.contentLength, bytesMax, account });
  }

  #idHeaders(): string[] {
    return buildIdHeaders(this.id, this.headers.requestId || this.id, this.#style);
  }
}

/**
 * Returns the ID headers of every response. On messages paths the ID is also sent under the name
 * that their client library reads.
 */
export function buildIdHeaders(own: string, clients: string, style: EndpointStyle): string[] {
  const ids = ['x-gateway-request-id', own, 'x-request-id', clients];
  if (style === 'messages') ids.push('request-id', own);
  return ids;
}
