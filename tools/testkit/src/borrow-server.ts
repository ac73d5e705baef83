import { connect } from 'node:net';
import type { RunningServer, ServerName, ServersOptions } from '@gateway/servers';
import type { TestServer } from './start-test-server.js';

/** Environment variable with the path of the lender's socket (`test/lend-servers.mjs`). */
export const LENDER_VARIABLE = 'GATEWAY_TEST_LENDER';
/** The last message that a suite sends. */
const RETURNED = '\nreturned\n';

/**
 * Request for a place on the shared server with these options. `places`: number of places on that
 * server.
 */
interface Wanted {
  readonly server: ServerName;
  readonly options: Pick<ServersOptions, 'nats' | 'postgres' | 'redis'>;
  readonly places: number;
}

/**
 * The shared PostgreSQL server. Each suite puts the number of its place into its database names.
 */
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
 * Borrows a place on a server that all suites of this run share. `stop` returns the place; remove
 * everything that this suite created there first.
 * @param urlOf returns the URL of the place, if the URL contains its number
 * @throws Error if all places are in use, or the server could not be started
 */
export async function borrowServer(
  wanted: Wanted,
  urlOf: (lent: Lent) => string = ({ url }) => url,
): Promise<TestServer> {
  const path = process.env[LENDER_VARIABLE];
  if (path === undefined) throw new Error(`${LENDER_VARIABLE} is not set: run tests with jest, which sets it`);
  const socket = connect(path).setEncoding('utf8');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const answer = await new Promise<Lent | { problem: string }>((resolve, reject) => {
    let received = '';
    socket.on('data', (text) => {
      received += String(text);
      if (received.endsWith('\n')) resolve(JSON.parse(received) as Lent);
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('cannot borrow a server: the test run has ended')));
    socket.write(`${JSON.stringify(wanted)}\n`);
  });
  if ('problem' in answer) throw new Error(answer.problem);
  // The open socket must not keep a suite running that fails to return its place.
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

/** Returns a server whose `stop`, `restart` and `pid` throw, because other suites use it too. */
function sharedServer(name: ServerName, { url, version }: Lent): RunningServer {
  const refuse = (): never => {
    throw new Error(`this ${name} server is shared with other suites: start your own server with own: true`);
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
