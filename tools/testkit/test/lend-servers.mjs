// Lends servers to the suites of one run. It is plain JavaScript because jest's main process loads
// it before any transform exists. A run that borrows no server needs no compiled code.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const STARTER = new URL('../dist/start-test-server.js', import.meta.url);
/** Must match `src/borrow-server.ts`. */
const LENDER_VARIABLE = 'GATEWAY_TEST_LENDER';
const RETURNED = '\nreturned\n';

let lender;

/**
 * Starts and stops the lender. Jest calls this function before the first and after the last suite.
 */
export default async function lendDuringRun() {
  if (lender === undefined) {
    lender = await lendServers();
    process.env[LENDER_VARIABLE] = lender.path;
  } else {
    await lender.stop();
    lender = undefined;
  }
}

/**
 * Starts the lender. A server starts when the first suite requests it with these options. Each
 * place belongs to one suite at a time, as long as the suite's connection is open. If the
 * connection closes before the suite returns the place, the place is not lent again.
 */
export async function lendServers() {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-lender-'));
  const path = join(directory, 'socket');
  /** Servers by their options. Their free places are sorted by their last use, oldest first. */
  const servers = new Map();
  const sockets = new Set();

  const findServer = ({ server, options, places }) => {
    const key = JSON.stringify([server, options]);
    if (!servers.has(key)) {
      const free = Array.from({ length: places }, (_, place) => place);
      servers.set(key, { started: start(server, options), free, lost: 0 });
    }
    return servers.get(key);
  };

  const serve = (socket) => {
    let received = '';
    let shared;
    let place;
    const lend = async (wanted) => {
      shared = findServer(wanted);
      const { url, version } = (await shared.started).server;
      if (socket.destroyed) throw new Error('the suite has ended');
      place = shared.free.shift();
      if (place !== undefined) return { url, version, place };
      throw new Error(
        `all ${wanted.places} places on the shared ${wanted.server} server are in use; ` +
          `${shared.lost} are held by suites that ended without returning them`,
      );
    };
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      received += text;
      if (shared !== undefined || !received.endsWith('\n')) return;
      lend(JSON.parse(received)).then(
        (lent) => socket.write(`${JSON.stringify(lent)}\n`),
        (error) => socket.end(`${JSON.stringify({ problem: error.message })}\n`),
      );
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      if (place === undefined) return;
      if (received.endsWith(RETURNED)) shared.free.push(place);
      else shared.lost += 1;
    });
  };

  const listener = createServer((socket) => {
    sockets.add(socket);
    serve(socket);
  });
  await new Promise((resolve, reject) => listener.once('error', reject).listen(path, resolve));
  listener.unref();

  return {
    path,
    async stop() {
      listener.close();
      for (const socket of sockets) socket.destroy();
      const started = await Promise.allSettled([...servers.values()].map((shared) => shared.started));
      await Promise.all(started.map((result) => result.value?.stop()));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function start(server, options) {
  if (!existsSync(STARTER))
    throw new Error('tests start servers with compiled code; compile it first: npx tsc -b tools/testkit');
  const { startTestServer } = await import(STARTER.href);
  return startTestServer(server, options);
}
