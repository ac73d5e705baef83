import { SERVER_KINDS } from './start-servers.js';

/**
 * An environment that lends no server, whatever URLs this one gives, directly or as `NAME_FILE`:
 * for servers that are stopped, killed and emptied.
 */
export function withoutLentServers(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
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
