import { expect, test } from '@jest/globals';
import { hasServerChanged, findRedisProblem } from './redis-settings.js';

const FACTS = {
  redis_mode: 'standalone',
  arch_bits: '64',
  run_id: 'a'.repeat(40),
  role: 'master',
  maxmemory_policy: 'noeviction',
};
const info = (changed: Partial<Record<keyof typeof FACTS, string>> = {}): string =>
  Object.entries({ ...FACTS, ...changed })
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('');

test('a primary that never evicts can be used', () => {
  expect(findRedisProblem(info())).toBeNull();
});

// Covers r12
test.each<[keyof typeof FACTS, string, RegExp]>([
  ['run_id', '', /run id/],
  ['arch_bits', '32', /64-bit/],
  ['redis_mode', 'cluster', /cluster-enabled no/],
  ['role', 'slave', /primary/],
  ['maxmemory_policy', 'volatile-lru', /noeviction/],
])('%s %s is refused', (name, value, remedy) => {
  expect(findRedisProblem(info({ [name]: value }))).toMatch(remedy);
});

test.each([
  ["READONLY You can't write against a read only replica.", true],
  ['MOVED 866 127.0.0.1:7001', true],
  ['LOADING Redis is loading the dataset in memory', true],
  ['UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)', true],
  ['CLUSTERDOWN The cluster is down', true],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", true],
  ['NOSCRIPT No matching script. Please use EVAL.', true],
  ['OOM command not allowed when used memory > maxmemory', false],
  ['ERR user_script:3: MOVED in a text', false],
])('%s shows a changed server: %p', (message, expected) => {
  expect(hasServerChanged(new Error(message))).toBe(expected);
});
