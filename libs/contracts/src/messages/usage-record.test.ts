import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { format } from 'oxfmt';
import { USAGE_RECORD_COLUMNS, type UsageRecordColumn } from './usage-record.js';

const PAGE = new URL('../../../../docs/usage-record.md', import.meta.url);

const HEAD = `# The usage record

Each request that was sent to a source has one usage record. This page is generated from
[usage-record.ts](../libs/contracts/src/messages/usage-record.ts). Export files have the columns in this order. A column without an entry
under "API" is part of an API field, or only in files or in the views of the schema \`finance\`. "Stored" is the SQL type of a column that
billing copies from the usage event. Billing computes all other columns.

| Column | API | Export files | Customers | Stored | Meaning |
| --- | --- | --- | --- | --- | --- |
`;

function lineOf([name, { direct, view, page, file, customerFile, about }]: [string, UsageRecordColumn]): string {
  const customers = [page && 'page', customerFile && 'files'].filter(Boolean).join(', ');
  return `| \`${name}\` | ${view ? 'yes' : ''} | ${file ?? ''} | ${customers} | ${direct?.stored ?? ''} | ${about} |`;
}

test('docs/usage-record.md matches the columns (UPDATE_GOLDEN=1 writes it)', async () => {
  const lines = Object.entries<UsageRecordColumn>(USAGE_RECORD_COLUMNS).map(lineOf);
  const { code: page } = await format('page.md', HEAD + lines.join('\n'), { printWidth: 120, singleQuote: true });
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});

const NUMBERS_MAX = { smallint: 2 ** 15 - 1, integer: 2 ** 31 - 1 } as const;

test('no number of an event exceeds its SQL type', () => {
  for (const { direct } of Object.values<UsageRecordColumn>(USAGE_RECORD_COLUMNS)) {
    if (direct?.stored !== 'smallint' && direct?.stored !== 'integer') continue;
    expect(direct.event.safeParse(direct.example).success).toBe(true);
    expect(direct.event.safeParse(NUMBERS_MAX[direct.stored] + 1).success).toBe(false);
  }
});
