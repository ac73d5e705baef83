import { connect } from 'node:net';
import { once } from 'node:events';
import type { Counters } from './counters.js';
import { readRedisInfo } from './parse-redis-info.js';

const ANSWER_MS_MAX = 5_000;
const ANSWER_CHARACTERS_MAX = 1_000_000;
const encode = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;

/**
 * Reads the counters of Redis since its start, with the user in the address. @throws Error if Redis
 * refuses
 */
export async function readRedis(address: string): Promise<Counters> {
  const { hostname, port, username, password } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.setEncoding('utf8').setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error('Redis did not answer in time')));
  try {
    await once(socket, 'connect');
    const login = ['AUTH', ...[username, password].filter((word) => word !== '').map(decodeURIComponent)];
    socket.write(`${login.length === 1 ? '' : encode(login)}${encode(['INFO', 'everything'])}`);
    return readRedisInfo(await bulkOf(socket));
  } finally {
    socket.destroy();
  }
}

/** Returns the first bulk string that arrives. */
async function bulkOf(socket: AsyncIterable<string>): Promise<string> {
  let received = '';
  for await (const piece of socket) {
    received += piece;
    const refusal = /^-.*$/m.exec(received);
    const bulk = /^\$(\d+)\r\n/m.exec(received);
    if (bulk === null && refusal !== null) throw new Error(`Redis refuses: ${refusal[0].trim()}`);
    if (bulk !== null) {
      const start = bulk.index + bulk[0].length;
      if (received.length >= start + Number(bulk[1])) return received.slice(start, start + Number(bulk[1]));
    }
    if (received.length > ANSWER_CHARACTERS_MAX) throw new Error('the response of Redis is too long');
  }
  throw new Error('Redis closed the connection');
}
