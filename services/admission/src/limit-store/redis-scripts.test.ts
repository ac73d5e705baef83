import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ADMISSION_REFUSAL_CODES } from '@gateway/contracts/errors';
import { AMOUNT_NANO_USD_MAX, SESSION_5H_MS } from '@gateway/metering';
import { loadScripts } from './redis-scripts.js';

const FOLDER = new URL('../../lua/', import.meta.url);
const FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.lua'));
const GIVEN_BY_REDIS = ['KEYS', 'ARGV'];

/** Lists the constants that a Lua text defines, each as often as it is defined. */
function defined(text: string): string[] {
  return [...text.matchAll(/^local ([A-Z][A-Z_, ]*?) =/gm)].flatMap(([, names = '']) => names.split(', '));
}

/** Lists the constants that a Lua text uses outside comments and string literals. */
function named(text: string): Set<string> {
  return new Set(text.replaceAll(/--.*|'[^']*'/g, '').match(/\b[A-Z][A-Z_]+\b/g));
}

test.each([
  ['SESSION_MS', SESSION_5H_MS],
  ['AMOUNT_MAX', AMOUNT_NANO_USD_MAX],
])('%s of the scripts equals the one of metering', (name, value) => {
  const texts = Object.values(loadScripts()).filter(({ text }) => defined(text).includes(name));
  expect(texts).not.toEqual([]);
  for (const { text } of texts) expect(text).toContain(`\nlocal ${name} = ${value}\n`);
});

test('admit.lua only refuses with codes of the contracts, in their order', () => {
  const source = readFileSync(new URL('admit.lua', FOLDER), 'utf8');
  const codes = Array.from(source.matchAll(/refused\(\s*'(\w+)'/g), ([, code]) => code);
  expect(codes).toContain('rate_limited');
  const inOrder: readonly string[] = ADMISSION_REFUSAL_CODES;
  expect([...new Set(codes)]).toEqual(inOrder.filter((code) => codes.includes(code)));
});

test('each constant is defined once in one file', () => {
  const all = FILES.flatMap((name) => defined(readFileSync(new URL(name, FOLDER), 'utf8')));
  expect(all).toContain('IDLE_SECONDS');
  expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
});

test.each(Object.entries(loadScripts()))('the script %s defines every constant that it uses', (_name, { text }) => {
  const lacking = [...named(text)].filter((name) => ![...defined(text), ...GIVEN_BY_REDIS].includes(name));
  expect(lacking).toEqual([]);
});
