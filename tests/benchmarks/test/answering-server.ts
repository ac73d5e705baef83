import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AnsweringServer {
  readonly port: number;
  /** Authorization headers in the order of arrival. */
  readonly authorizations: string[];
  readonly bodies: string[];
  close(): Promise<void>;
}

/** Starts a server on loopback that answers call n (0, 1, 2, …) with `answer`. */
export async function startAnsweringServer(
  answer: (n: number, response: ServerResponse, request: IncomingMessage) => void,
): Promise<AnsweringServer> {
  const authorizations: string[] = [];
  const bodies: string[] = [];
  let n = 0;
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization ?? '');
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString('utf8')));
    request.on('end', () => {
      bodies.push(body);
      answer(n++, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    authorizations,
    bodies,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
