import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

export interface TunnelProxy {
  readonly url: string;
  /** The CONNECT requests that it received, in order: target and authorization. */
  readonly asked: { readonly target: string | undefined; readonly authorization: string | undefined }[];
  stop(): Promise<void>;
}

/**
 * Starts a proxy that answers CONNECT with this status. With 200 it opens a tunnel to this port,
 * regardless of the target's name.
 */
export async function startTunnelProxy(port: number, status = 200): Promise<TunnelProxy> {
  const asked: TunnelProxy['asked'] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const server = createServer();
  server.on('connection', keep);
  server.on('connect', (request, client: Socket) => {
    asked.push({ target: request.url, authorization: request.headers['proxy-authorization'] });
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const provider = keep(connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 Connected\r\n\r\n')));
    provider.pipe(client).pipe(provider);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
