import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { renderCard } from './render-card.js';
import { SCENARIOS } from './scenarios.js';

const README = new URL('../../../../../README.md', import.meta.url);
/** From the title of the section to the next one. */
const SECTION = /^## When a provider fails$[^]*?(?=^## )/m;

test('the card of the README is what the scenarios say (UPDATE_GOLDEN=1 writes it anew)', () => {
  const card = renderCard(SCENARIOS);
  const page = readFileSync(README, 'utf8');
  if (process.env['UPDATE_GOLDEN'] === '1')
    writeFileSync(
      README,
      page.replace(SECTION, () => card),
    );
  expect(SECTION.exec(readFileSync(README, 'utf8'))?.[0]).toBe(card);
});

test('each scenario has a name of its own, and something to play', () => {
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
  for (const { name, plain, streamed } of SCENARIOS) expect([name, plain ?? streamed]).not.toContain(null);
});
