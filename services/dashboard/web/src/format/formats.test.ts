import { expect, test } from '@jest/globals';
import type { PageModel } from '@gateway/contracts/pages';
import { chooseModels } from '../pages/quick-start/choose-models.js';
import { findCallAdvice } from './advice.js';
import { formatShare, formatServed } from './number.js';
import { PICKED_MAX, filterOptions } from './pick.js';
import { computeSpan, listStarts } from './range.js';
import { codeSnippets, toolSnippets } from './snippets.js';
import { formatAgo, formatCountDown, formatDuration, formatShortUtc, formatUtc, recentMonths } from './time.js';
import { formatUsd, formatUsdExact, nanoToText, parseNano } from './usd.js';

test.each([
  ['0', '$0.00', '$0.00'],
  ['12.5', '$12.50', '$12.50'],
  ['1204.505', '$1,204.51', '$1,204.505'],
  ['-3.418205', '−$3.42', '−$3.418205'],
  ['0.008712507', '$0.0087', '$0.008712507'],
  ['0.000000007', '$0.000000007', '$0.000000007'],
  ['0.0000125', '$0.000013', '$0.0000125'],
  ['9007199.254740993', '$9,007,199.25', '$9,007,199.254740993'],
])('%s is shown as %s, exactly as %s', (text, short, exact) => {
  expect([formatUsd(text), formatUsdExact(text)]).toEqual([short, exact]);
  expect(parseNano(nanoToText(parseNano(text)))).toBe(parseNano(text));
});

test('formatShare() shows the relevant digits', () => {
  expect([0, 0.0004, 0.004, 0.0999, 0.31, 1].map(formatShare)).toEqual([
    '0 %',
    '<0.1 %',
    '0.4 %',
    '10.0 %',
    '31 %',
    '100 %',
  ]);
});

test('servedWords() names class and tools and omits the standard', () => {
  expect(formatServed({ class: 'standard', units: {} })).toBe('');
  expect(formatServed({ class: 'flex', units: { web_search: 1_200 } })).toBe('flex, 1,200 × web search');
});

test('parseNano() throws for malformed amounts', () => {
  for (const text of ['', '1e3', 'NaN', '1.0000000001', '1,5']) expect(() => parseNano(text)).toThrow('not an amount');
});

test('times are UTC, and a countdown has two parts and ends with now', () => {
  expect(formatUtc('2026-03-01T09:05:07Z', true)).toBe('1 Mar 2026, 09:05:07 UTC');
  expect(formatShortUtc('2025-12-31T23:59:59Z', Date.UTC(2026, 0, 1))).toBe('31 Dec 2025, 23:59:59');
  const left = (seconds: number) => formatCountDown(seconds * 1000, 0);
  expect([left(190_000), left(86_400), left(3_601), left(59), left(0), left(-5)]).toEqual([
    '2 d 4 h',
    '1 d',
    '1 h',
    '59 s',
    'now',
    'now',
  ]);
  expect(formatAgo('1970-01-01T00:00:00Z', 3 * 86_400_000)).toBe('3 days ago');
  expect([formatDuration(840), formatDuration(2_440), formatDuration(185_000)]).toEqual([
    '840 ms',
    '2.4 s',
    '3 min 5 s',
  ]);
  expect(recentMonths(Date.UTC(2026, 1, 28), 3)).toEqual(['2026-02', '2026-01', '2025-12']);
});

test('spanOf() has whole steps including the current one', () => {
  const now = Date.UTC(2026, 10, 20, 17, 19);
  expect(computeSpan('24h', now)).toEqual({
    from: '2026-11-19T18:00:00.000Z',
    to: '2026-11-20T18:00:00.000Z',
    by: 'hour',
  });
  expect(listStarts(computeSpan('7d', now))).toHaveLength(7);
  expect(listStarts(computeSpan('7d', now)).at(-1)).toBe('2026-11-20T00:00:00.000Z');
});

test("snippets have the deployment's URLs and omit a disabled messages protocol", () => {
  const facts = { chatBaseUrl: 'https://g/v1', messagesBaseUrl: null, model: 'a/b', messagesModel: 'c/d' };
  const ids = (messagesBaseUrl: string | null) =>
    [...codeSnippets({ ...facts, messagesBaseUrl }), ...toolSnippets({ ...facts, messagesBaseUrl })].map(
      ({ id }) => id,
    );
  expect(ids(null)).toEqual(['curl', 'python', 'javascript', 'codex', 'aider', 'opencode']);
  expect(ids('https://g')).toEqual(expect.arrayContaining(['messages', 'claude-code']));
  for (const { code } of codeSnippets(facts)) expect(code).toContain('https://g/v1');
});

test("callAdvice('upstream_auth_error') asks to inform the operator", () => {
  const { title, next } = findCallAdvice('upstream_auth_error');
  expect(`${title}. ${next}`).toBe(
    'Provider refused the gateway. Your key is fine, but the credential of the gateway is not. Send the operator the request ID.',
  );
});

test('pick() searches a long list and counts the omitted entries', () => {
  const options = Array.from({ length: PICKED_MAX + 11 }, (_, index) => ({
    value: `${index}`,
    label: `Model ${index}`,
  }));
  const shown = filterOptions(options, '');
  expect(shown).toHaveLength(PICKED_MAX + 1);
  expect(shown.at(-1)).toEqual({ value: '…more', label: '11 more: type to search', disabled: true });
  expect(filterOptions(options, ' model 6').map(({ label }) => label)).toEqual(['Model 6', 'Model 60']);
  expect(filterOptions(options, 'none')).toEqual([]);
});

test('chooseModels() suggests the cheapest model that is usable and not failing', () => {
  const model = (id: string, price: string, changes: Partial<PageModel> = {}): PageModel => ({
    id,
    displayName: id,
    kind: 'chat',
    allowed: true,
    available: true,
    failing: false,
    contextLength: null,
    maxOutputTokens: null,
    prices: {
      inputPerMillion: price,
      cachedInputPerMillion: price,
      cacheWritePerMillion: price,
      cacheWrite1hPerMillion: price,
      outputPerMillion: price,
      perCall: '0',
      tiers: [],
    },
    ...changes,
  });
  const good = model('lab/good', '5');
  const messages = model('anthropic/one', '9');
  const both = { model: 'lab/good', messagesModel: 'anthropic/one' };
  expect(chooseModels([messages, good, model('lab/dear', '6')])).toEqual(both);
  expect(chooseModels([messages, good, model('lab/dead', '1', { failing: true })])).toEqual(both);
  expect(chooseModels([messages, good, model('lab/off', '1', { allowed: false, available: false })])).toEqual(both);
  expect(chooseModels([messages, model('lab/dead', '1', { failing: true })]).model).toBe('anthropic/one');
  expect(chooseModels([model('anthropic/dead', '1', { failing: true }), good]).messagesModel).toBe('lab/good');
  expect(chooseModels([model('lab/dead', '1', { failing: true })]).model).toBe('lab/dead');
});
