import { connect } from 'node:net';
import type { RunningServer, ServerName, ServersOptions } from '@gateway/servers';
import type { TestServer } from './start-test-server.js';

/** Names the socket of the run's lender, `test/lend-servers.mjs`. */
export const LENDER_VARIABLE = 'GATEWAY_TEST_LENDER';
/** The last line that a suite sends. */
const RETURNED = '\nreturned\n';

/** A place on the shared server with these options; `places` is how many such a server has. */
interface Wanted {
  readonly server: ServerName;
  readonly options: Pick<ServersOptions, 'nats' | 'postgres' | 'redis'>;
  readonly places: number;
}

/** PostgreSQL, on which a suite names its databases after its place. */
export const SHARED_POSTGRES = {
  server: 'postgres',
  options: { postgres: { superuserPassword: 'a superuser for tests' } },
  places: 64,
} as const satisfies Wanted;

interface Lent {
  readonly url: string;
  readonly version: string;
  readonly place: number;
}

/**
 * Borrows a place on a server that the suites of this run share. `stop` returns it: remove first
 * what this suite has left there.
 * @param urlOf where the place is, if its number is part of the URL
 * @throws Error when all places are taken, or the server could not be started
 */
export async function borrowServer(
  wanted: Wanted,
  urlOf: (lent: Lent) => string = ({ url }) => url,
): Promise<TestServer> {
  const path = process.env[LENDER_VARIABLE];
  if (path === undefined) throw new Error(`${LENDER_VARIABLE} is not set: tests run under jest, which lends servers`);
  const socket = connect(path).setEncoding('utf8');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const answer = await new Promise<Lent | { problem: string }>((resolve, reject) => {
    let received = '';
    socket.on('data', (text) => {
      received += String(text);
      if (received.endsWith('\n')) resolve(JSON.parse(received) as Lent);
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the run has ended, and lends no servers any more')));
    socket.write(`${JSON.stringify(wanted)}\n`);
  });
  if ('problem' in answer) throw new Error(answer.problem);
  // A suite that fails to return it must still be able to end.
  socket.unref();
  return {
    server: sharedServer(wanted.server, { ...answer, url: urlOf(answer) }),
    place: answer.place,
    async stop() {
      socket.ref().end(RETURNED);
      await closed;
    },
  };
}

/** What a test could do to a server that belongs to it alone fails here. */
function sharedServer(name: ServerName, { url, version }: Lent): RunningServer {
  const refuse = (): never => {
    throw new Error(`other suites use this ${name} server too: a test that disturbs a server starts it with own: true`);
  };
  return {
    name,
    resolver: 'url',
    url,
    version,
    source: 'shared by the suites of this run',
    get pid() {
      return refuse();
    },
    stop: async () => refuse(),
    restart: async () => refuse(),
  };
}
