import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { pageQuery } from './lists.js';
import { walletEntryCreate } from './money.js';
import { proposedChange } from './price-proposal.js';
import { email, instant, label, lineOfText, usdCap, usdMoved, usdPositive } from './scalars.js';

const takes = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown): boolean =>
  schema.safeParse(value).success;

describe('text from users and operators', () => {
  test.each([
    ['a name', 'Ada'],
    ['blanks inside', 'Ada Lovelace'],
    ['other scripts', '阿达 🚀'],
    ['a hundred characters beyond the basic plane', '🚀'.repeat(100)],
  ])('accepts %s', (_, text) => expect(takes(label, text)).toBe(true));

  test.each([
    ['the character that PostgreSQL cannot store', 'a\u0000b'],
    ['a line break', 'a\nb'],
    ['a line separator', 'a\u2028b'],
    ['another control character', 'a\u0085b'],
    ['half a surrogate pair', 'a\ud800b'],
    ['blanks alone', '   '],
    ['nothing', ''],
    ['more than 200 characters', 'a'.repeat(201)],
  ])('rejects %s', (_, text) => {
    expect(takes(label, text)).toBe(false);
    if (text.trim() !== '') expect(takes(lineOfText(200), text)).toBe(false);
  });

  test('label and lineOfText() refuse 250 KB that end in a control character', () => {
    const startMs = performance.now();
    expect(takes(label, `${'a'.repeat(250_000)}\u0001`)).toBe(false);
    expect(takes(lineOfText(200), `${' '.repeat(250_000)}\u0001`)).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(1_000);
  });

  test('loses the blanks around it', () => expect(label.parse('  Ada ')).toBe('Ada'));

  test('is reported with the field that has the error', () => {
    const entry = { amountUsd: '1', kind: 'credit', reason: 'paid', reference: 'invoice\u0000' };
    expect(walletEntryCreate.safeParse(entry).error?.issues[0]?.path).toEqual(['reference']);
  });
});

test.each([
  ['1970-01-01T00:00:00Z', true],
  ['2026-11-22T00:00:00.123Z', true],
  ['1969-12-31T23:59:59Z', false],
  ['0020-02-29T00:00:00Z', false],
  ['2026-11-22', false],
  ['2024-02-29T00:00:00Z', true],
  ['2000-02-29T00:00:00Z', true],
  ['2026-02-29T00:00:00Z', false],
  ['2100-02-29T00:00:00Z', false],
  ['2026-04-31T00:00:00Z', false],
  ['2026-01-01T24:00:00Z', false],
  ['', false],
])('instant(%j) accepts: %s', (text, taken) => expect(takes(instant, text)).toBe(taken));

test.each([
  ['0', true, false, false],
  ['12.50', true, true, true],
  ['-12.5', false, true, false],
  ['0.000000001', true, true, true],
  ['0.0000000001', false, false, false],
  ['9000000', true, true, true],
  ['9000000.000000001', false, false, false],
  ['8999999.999999999', true, true, true],
  ['9000001', false, false, false],
  ['-0.00', false, false, false],
  ['1e3', false, false, false],
  ['١', false, false, false],
])('%s as a price, a moved amount and a cap: %s, %s, %s', (text, price, moved, cap) => {
  expect([takes(usdPositive, text), takes(usdMoved, text), takes(usdCap, text)]).toEqual([price, moved, cap]);
});

test('instant accepts only days of the calendar', () => {
  const wrong: string[] = [];
  for (let day = Date.UTC(1970, 0, 1); day < Date.UTC(2110, 0, 1); day += 86_400_000) {
    const date = new Date(day).toISOString().slice(0, 10);
    if (!takes(instant, `${date}T00:00:00.5Z`)) wrong.push(date);
    const next = new Date(day + 86_400_000).getUTCDate();
    const after = `${date.slice(0, 8)}${Number(date.slice(8)) + 1}`;
    if (next === 1 && takes(instant, `${after}T00:00:00Z`)) wrong.push(after);
  }
  expect(wrong).toEqual([]);
});

test('pageQuery rejects an empty cursor', () => expect(takes(pageQuery, { cursor: '' })).toBe(false));

test.each([
  ['ada@example.com', true],
  ["o'neil+list@mail.example.co.uk", true],
  [`${'a'.repeat(64)}@example.com`, true],
  [`${'a'.repeat(65)}@example.com`, false],
  [`a@${'b'.repeat(64)}.com`, false],
  ['.a@example.com', false],
  ['a..b@example.com', false],
  ['a.@example.com', false],
  ['a@example', false],
  ['a@example-.com', false],
  ['a@xn--bcher-kva.example', true],
  ['a@1j---4i.example', true],
])('email(%s) accepts: %s', (text, taken) => expect(takes(email, text)).toBe(taken));

test('the email schema has a pattern and no format', () => {
  expect(Object.keys(z.toJSONSchema(email))).not.toContain('format');
});

test.each([
  ['acme-eu', true],
  ['acme/large-1', true],
  ['[\u0000o', false],
  ['', false],
])('a price proposal for the object %j: accepted %s', (objectId, isAccepted) => {
  const prices = { inputPerMillion: '1', outputPerMillion: '2' };
  const change = { kind: 'source', objectId, modelId: 'acme/large-1', before: null, after: prices };
  expect(takes(proposedChange, change)).toBe(isAccepted);
});
