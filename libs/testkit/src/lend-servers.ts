import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { RETURNED, type Lent, type Wanted } from './borrow-server.js';
import type { TestServer } from './start-test-server.js';
import { temporaryDirectory } from './temporary-directory.js';

/** One server of the run and its places, least recently used first. */
interface SharedServer {
  readonly started: Promise<TestServer>;
  readonly free: number[];
  /** Places whose suite ended without returning them. */
  lost: number;
}

export interface Lender {
  /** Path of the socket on which suites borrow servers. */
  readonly path: string;
  /** Stops the servers and removes their files. */
  stop(): Promise<void>;
}

/**
 * Lends servers to the suites of one run. A server starts when the first suite wants one with its
 * options. Each place on it belongs to one suite at a time; if the suite's process ends before it
 * returns the place, no other suite gets it.
 */
export async function lendServers(): Promise<Lender> {
  const directory = temporaryDirectory('lender');
  const path = join(directory.path, 'socket');
  const servers = new Map<string, SharedServer>();
  const sockets = new Set<Socket>();

  const findServer = ({ server, options, places }: Wanted): SharedServer => {
    const key = JSON.stringify([server, options]);
    const known = servers.get(key);
    if (known !== undefined) return known;
    // Loaded here only: a run without servers does not pay for it.
    const started = import('./start-test-server.js').then(({ startTestServer }) => startTestServer(server, options));
    const shared = { started, free: Array.from({ length: places }, (_, place) => place), lost: 0 };
    servers.set(key, shared);
    return shared;
  };

  /** Answers one suite, whose connection stands for the place that it has. */
  const serve = (socket: Socket): void => {
    let received = '';
    let isAsked = false;
    let shared: SharedServer | undefined;
    let place: number | undefined;
    const lend = async (wanted: Wanted): Promise<Lent> => {
      shared = findServer(wanted);
      const { url, version } = (await shared.started).server;
      if (socket.destroyed) throw new Error('the suite has ended');
      place = shared.free.shift();
      if (place !== undefined) return { url, version, place };
      throw new Error(
        `all ${wanted.places} places on the shared ${wanted.server} server are taken, ` +
          `${shared.lost} of them by suites that ended without returning them`,
      );
    };
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      received += String(text);
      if (isAsked || !received.endsWith('\n')) return;
      isAsked = true;
      lend(JSON.parse(received) as Wanted).then(
        (lent) => socket.write(`${JSON.stringify(lent)}\n`),
        (error: Error) => socket.end(`${JSON.stringify({ problem: error.message })}\n`),
      );
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      if (shared === undefined || place === undefined) return;
      if (received.endsWith(RETURNED)) shared.free.push(place);
      else shared.lost += 1;
    });
  };

  const listener = createServer((socket) => {
    sockets.add(socket);
    serve(socket);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(path, resolve);
  });
  listener.unref();

  return {
    path,
    async stop() {
      listener.close();
      for (const socket of sockets) socket.destroy();
      const started = await Promise.allSettled([...servers.values()].map((shared) => shared.started));
      const running = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      await Promise.all(running.map((server) => server.stop()));
      directory.remove();
    },
  };
}
