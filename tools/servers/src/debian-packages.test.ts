import { afterAll, expect, jest, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryState } from '../test/temporary-state.js';
import { fetchDebianPackages } from './debian-packages.js';
import { SERVER_KINDS } from './start-servers.js';

jest.setTimeout(240_000);
const state = temporaryState();
afterAll(() => state.removeAll());

/** These tests need a reachable Debian archive, so they run only with GATEWAY_TEST_FETCH=on. */
const isEnabled = process.env['GATEWAY_TEST_FETCH'] === 'on';
const withArchive = (name: string, run: () => Promise<void>): void =>
  isEnabled ? test(name, run) : test.skip(`${name} (needs a Debian archive: GATEWAY_TEST_FETCH=on npm test)`, run);

withArchive('two concurrent fetches find the complete program', async () => {
  const cache = await state.make();
  const fetches = [1, 2].map(() => SERVER_KINDS.redis.findProject(cache, { fetch: true, log: () => undefined }));
  for (const found of await Promise.all(fetches)) expect(found.programs[0]?.version).toMatch(/^7\./);
  const [system] = await readdir(cache);
  expect(await readdir(join(cache, system ?? ''))).toEqual(['redis']);
});

withArchive('a fetched program that does not run leaves its reason and no directory', async () => {
  const cache = await state.make();
  const refuse = (): Promise<string> => Promise.resolve('it does not run');
  const fetch = fetchDebianPackages(['nats-server'], join(cache, 'x', 'nats'), () => undefined, refuse);
  await expect(fetch).rejects.toThrow('it does not run');
  expect(await readdir(join(cache, 'x'))).toEqual([]);
});

withArchive('a missing package is reported, with private lists too', async () => {
  const cache = await state.make();
  const name = 'gateway-no-such-package';
  const fetch = fetchDebianPackages(
    [name],
    join(cache, 'x', 'y'),
    () => undefined,
    () => Promise.resolve(null),
  );
  await expect(fetch).rejects.toThrow(`apt-get could not download ${name}`);
  expect(await readdir(join(cache, 'x'))).toEqual([]);
});
