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
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
    }
    target.pipe(client);
    forward(client, target);
  });
  server.listen({ host: '127.0.0.1', port: 0, backlog: LISTEN_BACKLOG });
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Inserts the header after the request line, so it waits until that line is complete. */
function forward(client: Socket, target: Socket): void {
  let line = Buffer.alloc(0);
  const read = (chunk: Buffer): void => {
    line = Buffer.concat([line, chunk]);
    const end = line.indexOf('\r\n');
    if (end < 0) return;
    client.off('data', read);
    const from = `X-Forwarded-For: ${client.remoteAddress ?? ''}\r\n`;
    target.write(Buffer.concat([line.subarray(0, end + 2), Buffer.from(from), line.subarray(end + 2)]));
    client.pipe(target);
  };
  client.on('data', read);
}
