import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A customer's event receiver on the loopback address. */
export interface WebhookReceiver {
  readonly port: number;
  readonly url: string;
  /** Every request in the order of arrival, even without a response. */
  readonly received: ReceivedRequest[];
  /** The response to further requests; a number is a status. */
  answer: number | ((response: ServerResponse) => void);
  stop(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      receiver.received.push({ path, headers, body: Buffer.concat(chunks).toString('utf8') });
      const { answer } = receiver;
      if (typeof answer === 'number') response.writeHead(answer).end('a body that nobody reads');
      else answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    port,
    url: `http://127.0.0.1:${port}/hook?tenant=1`,
    received: [],
    answer: 204,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
