import { expect, test } from '@jest/globals';
import { natsKind } from './nats-kind.js';
import { postgresKind } from './postgres-kind.js';
import { redisKind } from './redis-kind.js';
import { urlFrom } from './use-url.js';
import { withoutLentServers } from './without-lent-servers.js';

test('withoutLentServers() hides all server URLs and keeps other variables', async () => {
  const names = [postgresKind, natsKind, redisKind].flatMap(({ urlVariables }) => urlVariables);
  const lent = Object.fromEntries(
    names.flatMap((name) => [
      [name, 'x://host'],
      [`${name}_FILE`, '/no/such/file'],
    ]),
  );
  const env = withoutLentServers({ ...lent, PATH: '/bin' });
  expect(env['PATH']).toBe('/bin');
  for (const kind of [postgresKind, natsKind, redisKind]) expect(await urlFrom(kind, env)).toBeNull();
});
