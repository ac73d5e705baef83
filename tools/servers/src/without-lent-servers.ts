import { converse } from './converse.js';
import { encode } from './probe-redis.js';
import { SERVER_KINDS } from './start-servers.js';

/**
 * Returns an environment without server URLs, whether set directly or as `NAME_FILE`: for tests
 * that stop, kill and empty their servers.
 */
export function withoutServerUrls(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const variables = Object.values(SERVER_KINDS).flatMap(({ urlVariables }) => urlVariables);
  return {
    ...env,
    ...Object.fromEntries(
      variables.flatMap((name) => [
        [name, ''],
        [`${name}_FILE`, ''],
      ]),
    ),
  };
}

const TIMEOUT_MS = 1_000;

/**
 * Returns the port of the primary that a Sentinel on this machine has under this name.
 * @throws Error if it does not respond or does not know the name
 */
export function askSentinel(port: number, password: string, name: string): Promise<number> {
  const address = { host: '127.0.0.1', port, tls: false };
  const questions = [
    ['AUTH', password],
    ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name],
  ];
  return converse(address, TIMEOUT_MS, (received, send) => {
    if (received === '') return void send(questions.map(encode).join(''));
    if (/^(-|\*-1)/m.test(received)) throw new Error(received.trim());
    const found = /^\*2\r\n\$\d+\r\n\S+\r\n\$\d+\r\n(\d+)\r\n/m.exec(received);
    return found === null ? undefined : Number(found[1]);
  });
}
