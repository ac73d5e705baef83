import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { format } from 'oxfmt';
import { ERROR_CATALOGUE } from './catalogue.js';
import type { ErrorEntry, RefusalEntry, RetryAdvice } from './error-entry.js';
import { REFUSALS } from './refusals.js';

const ROOT = new URL('../../../../', import.meta.url);

const RETRY_WORDS: Readonly<Record<RetryAdvice, string>> = {
  no: 'no',
  after_retry_after: 'after Retry-After',
  with_backoff: 'with back-off',
  after_reset: 'after the reset',
};

/** Formats the order of refusals for docs/behaviour.md#order-of-refusals. */
function formatOrder(): string {
  const rows = Object.entries<RefusalEntry>(REFUSALS).map(([code, { check, statuses, note }]) => {
    const response = `${statuses[0]} \`${code}\``;
    return [check, note === undefined ? response : `${response}, ${note}`];
  });
  return formatTable(['Check', 'Response'], rows);
}

/** Formats the error table of CLIENTS.md, in the order of the statuses. */
function formatErrors(): string {
  const rows = Object.entries<ErrorEntry>(ERROR_CATALOGUE)
    .sort(([, one], [, other]) => (one.statuses[0] ?? 0) - (other.statuses[0] ?? 0))
    .map(([code, { statuses, remedy, retry }]) => [
      code === 'upstream_error' ? '5xx' : statuses.join(', '),
      `\`${code}\``,
      remedy,
      RETRY_WORDS[retry],
    ]);
  return formatTable(['Status', 'Code', 'What to do', 'Retry'], rows);
}

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

test.each([
  ['docs/behaviour.md', /^\| Check .*\n(?:\|.*\n)+/m, formatOrder()],
  ['services/edge-proxy/CLIENTS.md', /^\| Status +\| Code .*\n(?:\|.*\n)+/m, formatErrors()],
])('the table in %s matches the catalogue (UPDATE_GOLDEN=1 writes it)', async (path, place, table) => {
  const file = new URL(path, ROOT);
  const before = readFileSync(file, 'utf8');
  expect(before).toMatch(place);
  const { code: page } = await format(
    'page.md',
    before.replace(place, () => table),
    { printWidth: 120, singleQuote: true },
  );
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, page);
  expect(readFileSync(file, 'utf8')).toBe(page);
});
