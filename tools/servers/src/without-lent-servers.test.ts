import { expect, test } from '@jest/globals';
import { natsKind } from './nats-kind.js';
import { postgresKind } from './postgres-kind.js';
import { redisKind } from './redis-kind.js';
import { readServerUrl } from './use-url.js';
import { withoutServerUrls } from './without-lent-servers.js';

test('withoutLentServers() hides all server URLs and keeps other variables', async () => {
  const names = [postgresKind, natsKind, redisKind].flatMap(({ urlVariables }) => urlVariables);
  const lent = Object.fromEntries(
    names.flatMap((name) => [
      [name, 'x://host'],
      [`${name}_FILE`, '/no/such/file'],
    ]),
  );
  const env = withoutServerUrls({ ...lent, PATH: '/bin' });
  expect(env['PATH']).toBe('/bin');
  for (const kind of [postgresKind, natsKind, redisKind]) expect(await readServerUrl(kind, env)).toBeNull();
});
