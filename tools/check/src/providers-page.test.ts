import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { format, resolveConfig } from 'prettier';
import { PROFILES } from '@gateway/contracts/providers';
import { updateProvidersPage } from './providers-page.js';

const PAGE = new URL('../../../docs/providers.md', import.meta.url);

test('docs/providers.md matches the profiles (UPDATE_GOLDEN=1 writes it)', async () => {
  const options = (await resolveConfig(PAGE)) ?? {};
  const updated = updateProvidersPage(readFileSync(PAGE, 'utf8'), PROFILES);
  const page = await format(updated, { ...options, parser: 'markdown' });
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});
