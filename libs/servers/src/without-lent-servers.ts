import { SERVER_KINDS } from './start-servers.js';

/**
 * Returns an environment without server URLs, whether set directly or as `NAME_FILE`: for tests
 * that stop, kill and empty their servers.
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
