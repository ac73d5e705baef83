import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ENDPOINTS } from '@gateway/contracts/messages';

const page = readFileSync(new URL('../CLIENTS.md', import.meta.url), 'utf8');

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
