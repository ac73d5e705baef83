import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { LIMIT_DEFAULTS } from '../messages/call.js';
import { ERROR_CATALOGUE, findCatalogueEntry } from './catalogue.js';
import type { ErrorCode } from './catalogue.js';

const specification = readFileSync(new URL('../../specification/model-gateway-api.md', import.meta.url), 'utf8');

/**
 * Returns the rows of a specification table as cells. The header line starts with the given text.
 */
function table(header: string): string[][] {
  const lines = specification.split('\n');
  const from = lines.findIndex((line) => line.startsWith(header));
  if (from < 0) throw new Error(`the specification has no table "${header}"`);
  const rows: string[][] = [];
  for (const line of lines.slice(from + 2)) {
    if (!line.startsWith('|')) break;
    rows.push(
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  }
  return rows;
}

test('the default limits are those of the specification and of behaviour.md', () => {
  const { requestsPerMinute, concurrencyWithPlan, concurrencyWithoutPlan, maxActiveKeys } = LIMIT_DEFAULTS;
  const defaults = new Map(table('| Limit | Scope | Default |').map(([limit, , value]) => [limit, value]));
  expect(defaults.get('Requests per minute')).toBe(`${requestsPerMinute} per minute, or the plan's value`);
  expect(defaults.get('Concurrent requests')).toBe(
    `Plan's limit; ${concurrencyWithPlan} with a plan, ${concurrencyWithoutPlan} without`,
  );
  expect(specification).toContain(`Active keys per account: default ${maxActiveKeys} unless`);
  expect(specification).toContain(`a separate ${LIMIT_DEFAULTS.playgroundRequestsPerMinute} per minute limit`);
  const behaviour = readFileSync(new URL('../../../../docs/behaviour.md', import.meta.url), 'utf8');
  expect(behaviour.replaceAll(/\s+/g, ' ')).toContain(
    `An account without overrides has ${requestsPerMinute} requests per minute, ${concurrencyWithPlan} slots with ` +
      `a plan and ${concurrencyWithoutPlan} without, and ${maxActiveKeys} keys.`,
  );
});

const specified = table('| Status | Code | Meaning |').flatMap(([statuses = '', codes = '']) =>
  codes.split(', ').map((code) => ({ code, statuses: statuses.split(' or ') })),
);

test('the catalogue has exactly the codes of the specification', () => {
  expect(Object.keys(ERROR_CATALOGUE).sort()).toEqual(specified.map((row) => row.code).sort());
});

test.each(specified)('$code has the specified status', ({ code, statuses }) => {
  const entry = findCatalogueEntry(code as ErrorCode);
  if (statuses[0] === '5xx') {
    expect(entry.statuses.every((status) => status >= 500 && status < 600)).toBe(true);
    return;
  }
  // The HTTP parser also sends `invalid_request`, with the statuses 408 and 431.
  const own = entry.statuses.filter((status) => !(code === 'invalid_request' && (status === 408 || status === 431)));
  expect(own.map(String)).toEqual(statuses);
});

test('the catalogue has exactly the error types of the specification', () => {
  const types = /error\.type \| string \| One of: ([^.|]+)\./.exec(specification)?.[1]?.split(', ') ?? [];
  expect(types).toHaveLength(8);
  const used = new Set(Object.values(ERROR_CATALOGUE).map((entry) => entry.chatType));
  expect([...used].sort()).toEqual([...types].sort());
});

test('the catalogue has the retry advice of the specification', () => {
  const advice = table('| Retry | Codes |');
  const rows: Record<string, string> = Object.fromEntries(advice.map(([when = '', codes = '']) => [when, codes]));
  const codesWith = (retry: string) =>
    Object.entries(ERROR_CATALOGUE)
      .filter(([, entry]) => entry.retry === retry)
      .map(([code]) => code)
      .sort();
  expect(codesWith('after_retry_after')).toEqual(rows['Yes, after Retry-After']?.split(', ').sort());
  expect(codesWith('after_reset')).toEqual(['model_limit_reached', 'window_exhausted']);
  for (const code of ['upstream_unreachable', 'upstream_error', 'upstream_timeout']) {
    expect(codesWith('with_backoff')).toContain(code);
  }
  for (const [, entry] of Object.entries(ERROR_CATALOGUE)) {
    if ((entry.statuses as readonly number[]).includes(500) && entry.statuses.length === 1)
      expect(entry.retry).toBe('with_backoff');
    if ((entry.statuses[0] ?? 0) < 429) expect(entry.retry).toBe('no');
  }
});
