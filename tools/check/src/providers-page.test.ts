import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { format } from 'oxfmt';
import { PROFILES } from '@gateway/contracts/providers';
import { updateProvidersPage } from './providers-page.js';

const PAGE = new URL('../../../docs/providers.md', import.meta.url);

test('docs/providers.md matches the profiles (UPDATE_GOLDEN=1 writes it)', async () => {
  const updated = updateProvidersPage(readFileSync(PAGE, 'utf8'), PROFILES);
  const { code: page } = await format('page.md', updated, { printWidth: 120, singleQuote: true });
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});
