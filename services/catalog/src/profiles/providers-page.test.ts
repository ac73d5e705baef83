import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { format, resolveConfig } from 'prettier';
import { PROFILES } from './profiles.js';
import { providersPage } from './providers-page.js';

const PAGE = new URL('../../../../docs/providers.md', import.meta.url);
const FACTS = new URL('../../profiles/', import.meta.url);

test('docs/providers.md matches the profiles (UPDATE_GOLDEN=1 writes it)', async () => {
  const options = (await resolveConfig(PAGE)) ?? {};
  const page = await format(providersPage(PROFILES), { ...options, parser: 'markdown' });
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});

test('every profile has facts with their source and date', () => {
  const files = readdirSync(FACTS).sort();
  expect(files).toEqual(PROFILES.map(({ id }) => `${id}.json`).sort());
  for (const file of files) {
    const { id, facts } = JSON.parse(readFileSync(new URL(file, FACTS), 'utf8')) as {
      id: string;
      facts: Record<string, { source: string; date: string; says: string }[]>;
    };
    expect(`${id}.json`).toBe(file);
    expect(Object.keys(facts)).toContain('endpoints');
    for (const found of Object.values(facts)) {
      for (const fact of found) {
        expect([fact.source, fact.date, fact.says].every((text) => typeof text === 'string' && text !== '')).toBe(true);
      }
    }
  }
});
