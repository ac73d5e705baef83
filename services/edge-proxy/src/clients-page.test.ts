import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ERROR_CATALOGUE, catalogueEntry, type ErrorCode, type RetryAdvice } from '@gateway/contracts/errors';
import { ENDPOINTS } from '@gateway/contracts/messages';

const page = readFileSync(new URL('../CLIENTS.md', import.meta.url), 'utf8');
const rows = [...page.matchAll(/^\| ([\dx, ]+?) *\| `(\w+)` *\| (.+?) *\| ([\w -]+?) *\|$/gm)].map(
  ([, statuses = '', code = '', remedy = '', retry = '']) => ({ statuses: statuses.split(', '), code, remedy, retry }),
);

const RETRY_WORDS: Readonly<Record<RetryAdvice, string>> = {
  no: 'no',
  after_retry_after: 'after Retry-After',
  with_backoff: 'with back-off',
  after_reset: 'after the reset',
};

test('the client page has a remedy for exactly the codes of the catalogue', () => {
  expect(rows.map(({ code }) => code).sort()).toEqual(Object.keys(ERROR_CATALOGUE).sort());
  for (const { code, remedy } of rows) expect([code, remedy.length > 10]).toEqual([code, true]);
});

test.each(rows)('$code: status and retry advice match the catalogue', ({ code, statuses, retry }) => {
  const entry = catalogueEntry(code as ErrorCode);
  if (code !== 'upstream_error') expect(statuses).toEqual(entry.statuses.map(String));
  else expect(statuses).toEqual(['5xx']);
  expect(retry).toBe(RETRY_WORDS[entry.retry]);
});

test('the client page lists every endpoint', () => {
  for (const path of [...ENDPOINTS, '/v1/models', '/v1/gateway/usage', '/api/gateway/config']) {
    const isNamed = page.includes(path) || page.includes(`\`${path.slice('/v1'.length)}\``);
    expect([path, isNamed]).toEqual([path, true]);
  }
});

test('the client page lists models of the bundled price list', () => {
  const list = new URL('../../dashboard/lists/models.json', import.meta.url);
  const { models } = JSON.parse(readFileSync(list, 'utf8')) as { models: { id: string }[] };
  const named = page.match(/\b(?:openai|anthropic)\/(?:gpt|claude)-[a-z0-9.-]*[a-z0-9]/g) ?? [];
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !models.some(({ id }) => id === name))).toEqual([]);
});
