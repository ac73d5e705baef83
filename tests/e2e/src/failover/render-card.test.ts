import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { renderCard } from './render-card.js';
import { SCENARIOS } from './scenarios.js';

const PAGE = new URL('../../../../docs/failover.md', import.meta.url);

test('docs/failover.md lists the scenarios (UPDATE_GOLDEN=1 writes it)', () => {
  const page = renderCard(SCENARIOS);
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});

test('each scenario has a unique name and at least one request', () => {
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
  for (const { name, plain, streamed } of SCENARIOS) expect([name, plain ?? streamed]).not.toContain(null);
});
