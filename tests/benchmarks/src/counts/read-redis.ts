import { once } from 'node:events';
import { connect } from 'node:net';
import type { Counters } from './counters.js';

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
    return parseRedisInfo(await readBulkString(socket));
  } finally {
    socket.destroy();
  }
}

/** Returns the first bulk string that arrives. */
async function readBulkString(socket: AsyncIterable<string>): Promise<string> {
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

const SCRIPTS = ['evalsha', 'eval', 'fcall', 'evalsha_ro', 'fcall_ro'];
/** Commands that the counting itself sends. */
const OWN = ['info', 'auth', 'hello', 'client|setname', 'quit'];

/** Reads the counters from the response to `INFO everything`. */
export function parseRedisInfo(info: string): Counters {
  const field = (name: string): number | null => {
    const value = new RegExp(`^${name}:(\\d+)\\r?$`, 'm').exec(info)?.[1];
    return value === undefined ? null : Number(value);
  };
  let [scripts, commands] = [0, 0];
  for (const [, name = '', calls = ''] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (SCRIPTS.includes(name)) scripts += Number(calls);
    else if (!OWN.includes(name)) commands += Number(calls);
  }
  const [bytesIn, appended] = [field('total_net_input_bytes'), field('aof_current_size')];
  return {
    redisScripts: scripts,
    redisCommands: commands,
    ...(bytesIn === null ? {} : { redisBytesIn: bytesIn }),
    ...(appended === null ? {} : { redisAppendedBytes: appended }),
  };
}
