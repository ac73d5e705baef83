import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface EdgeRequest {
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
  /** Whether the client disconnected before the response was complete. */
  gone: boolean;
}

export interface FakeEdge {
  readonly url: string;
  readonly asked: EdgeRequest[];
  /** Sets the response to later requests. */
  answer(next: (response: ServerResponse, request: EdgeRequest) => void): void;
  stop(): Promise<void>;
}

/** Starts a server in place of the gateway's edges. */
export async function startFakeEdge(): Promise<FakeEdge> {
  const asked: EdgeRequest[] = [];
  let reply: (response: ServerResponse, request: EdgeRequest) => void = (response) => response.end();
  const server = createServer((request, response) => void serve(request, response));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { authorization } = request.headers;
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
    const one = { authorization, body, gone: false };
    response.once('close', () => {
      one.gone = !response.writableEnded;
    });
    asked.push(one);
    reply(response, one);
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer(next) {
      reply = next;
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
