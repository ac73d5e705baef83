import { afterAll, expect, jest, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { temporaryState } from '../test/temporary-state.js';
import { allowedResolvers } from './server.js';
import { inspectServers } from './inspect-servers.js';
import { isAtLeast } from './server-kind.js';

jest.setTimeout(60_000);
const state = temporaryState();
afterAll(() => state.removeAll());

test('inspectServers() reports the resolver of each server and fetches nothing', async () => {
  const cacheDirectory = await state.make();
  const env = { GATEWAY_SERVER_SOURCES: 'project' };
  const [postgres, nats, redis] = await inspectServers({ cacheDirectory, env });
  expect(postgres).toMatchObject({ name: 'postgres', resolver: 'project', version: expect.stringMatching(/^18\./) });
  expect(nats).toMatchObject({ name: 'nats', resolver: 'project', version: 'fetched on first start' });
  expect(redis).toMatchObject({
    name: 'redis',
    resolver: 'project',
    source: 'Debian packages redis-server, redis-tools',
  });
  expect(await readdir(cacheDirectory)).toEqual([]);
});

test('a missing server is reported with its reason and three remedies', async () => {
  const env = {
    GATEWAY_SERVER_SOURCES: 'url,binary',
    GATEWAY_NATS_URL: 'nats://127.0.0.1:1',
    GATEWAY_REDIS_BINARY: '/nowhere',
  };
  const [, nats, redis] = await inspectServers({ env });
  expect(nats).toMatchObject({ resolver: null, problem: expect.stringContaining('GATEWAY_NATS_URL is set') });
  expect(nats?.problem).not.toContain('binary');
  expect(redis?.problem).toMatch(/\/nowhere is not an executable file[^]*3\. start a Docker engine/);
});

test('resolvers keep their order, and unknown ones are refused', () => {
  expect(allowedResolvers({ GATEWAY_SERVER_SOURCES: 'docker, url' })).toEqual(['url', 'docker']);
  expect(allowedResolvers({})).toEqual(['url', 'binary', 'project', 'docker']);
  expect(() => allowedResolvers({ GATEWAY_SERVER_SOURCES: 'podman' })).toThrow('"podman"');
});

test.each([
  ['2.10.0', '2.9', true],
  ['2.9.10', '2.9', true],
  ['2.8.4', '2.9', false],
  ['14', '14', true],
  ['13.22', '14', false],
  ['7.0.15', '7', true],
])('version %s is at least %s: %s', (version, minimum, expected) => {
  expect(isAtLeast(version, minimum)).toBe(expected);
});
