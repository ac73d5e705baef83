import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface RawProvider {
  readonly url: string;
  connections(): number;
  stop(): Promise<void>;
}

/**
 * Starts a provider that can violate HTTP: `serve` receives the plain connection when it is opened.
 */
export async function startRawProvider(serve: (socket: Socket, connection: number) => void): Promise<RawProvider> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    serve(socket, connections);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Calls `answer` when a request head has arrived, and reads the remaining bytes. */
export function onRequest(socket: Socket, answer: () => void): void {
  let isAnswered = false;
  socket.on('data', (chunk) => {
    if (isAnswered || !chunk.includes('POST ')) return;
    isAnswered = true;
    answer();
  });
  socket.resume();
}
