import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Backlog of connections that wait for `accept`: attacks open thousands at the same time. */
const LISTEN_BACKLOG = 4_096;

export interface ForwardingProxy {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Starts a trusted hop in front of a listener on 127.0.0.1. It forwards bytes immediately, so slow
 * bytes stay slow, and adds X-Forwarded-For to the first request of each connection.
 */
export async function startForwardingProxy(targetPort: number): Promise<ForwardingProxy> {
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true });
    clients.add(client);
    const end = (): void => {
      clients.delete(client);
      client.destroy();
      target.destroy();
    };
    for (const socket of [client, target]) socket.on('error', () => undefined).once('close', end);
    target.pipe(client);
    forward(client, target);
  });
  await once(server.listen({ host: '127.0.0.1', port: 0, backlog: LISTEN_BACKLOG }), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server.close(), 'close');
      for (const client of clients) client.destroy();
      await closed;
    },
  };
}

/** Inserts the header after the request line, so it waits until that line is complete. */
function forward(client: Socket, target: Socket): void {
  let received = Buffer.alloc(0);
  client.on('data', function read(chunk: Buffer) {
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf('\r\n');
    if (end < 0) return;
    client.off('data', read);
    target.write(received.subarray(0, end));
    target.write(`\r\nX-Forwarded-For: ${client.remoteAddress ?? ''}`);
    target.write(received.subarray(end));
    client.pipe(target);
  });
}
