import { expect, test } from '@jest/globals';
import { readServerUrl } from './resolve-server.js';
import { SERVER_KINDS, withoutServerUrls } from './start-servers.js';

test('withoutLentServers() hides all server URLs and keeps other variables', async () => {
  const kinds = Object.values(SERVER_KINDS);
  const names = kinds.flatMap(({ urlVariables }) => urlVariables);
  const lent = Object.fromEntries(
    names.flatMap((name) => [
      [name, 'x://host'],
      [`${name}_FILE`, '/no/such/file'],
    ]),
  );
  const env = withoutServerUrls({ ...lent, PATH: '/bin' });
  expect(env['PATH']).toBe('/bin');
  for (const kind of kinds) expect(await readServerUrl(kind, env)).toBeNull();
});
