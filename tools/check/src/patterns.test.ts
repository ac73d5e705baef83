import { fileURLToPath } from 'node:url';
import { ANTHROPIC_COMPATIBLE, OPENAI_COMPATIBLE, PROFILES } from '@gateway/contracts/providers';
import { expect, test } from '@jest/globals';
import { patternsOf, slowPatterns, storedPatterns } from '../patterns.mjs';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/, '');
const found = (text: string): string[] => slowPatterns(patternsOf(new Map([['services/a/src/b.ts', text]])));

test.each([
  ['an exponential literal', 'const a = /^(a+)+$/;', 'exponential'],
  ['a quadratic literal', 'const a = /^ *([^=; ]+)=([^;]*?) *$/;', 'quadratic'],
  ['a literal that starts anywhere', "text.replace(/\\s+$/, '')", 'quadratic'],
  ['a composed pattern', "const A = '[^a]'; const b = new RegExp(`^${A}*[^ab]${A}*$`, 'u');", 'quadratic'],
  ['a joined pattern', "const b = RegExp('^x*' + 'x*y$');", 'quadratic'],
  ['a raw pattern', 'const b = new RegExp(String.raw`^\\w+\\d+$`);', 'quadratic'],
])('patternsOf() finds %s', (_, text, kind) => {
  expect(found(text)).toEqual([expect.stringMatching(new RegExp(`: ${kind}$`))]);
});

test('slowPatterns() accepts linear patterns and skips tests', () => {
  expect(found('const a = /^[a-z]+-[0-9]+$/; const b = new RegExp(unknown);')).toEqual([]);
  expect(patternsOf(new Map([['services/a/src/b.test.ts', 'const a = /(a+)+$/;']]))).toEqual([]);
});

/** With one of them, a text of n characters takes at most n² / 2 steps; the edge reads 8,000. */
const UNBOUNDED = /(?<!\\)[*+]|\{\d+,\}/g;

test('error patterns have at most one unbounded quantifier and no slow part', () => {
  const patterns = [...PROFILES, OPENAI_COMPATIBLE, ANTHROPIC_COMPATIBLE].flatMap(({ id, errors }) =>
    errors.flatMap(({ text }) => (text === null ? [] : [{ where: id, source: text, flags: 'i' }])),
  );
  expect(patterns.length).toBeGreaterThan(100);
  expect(slowPatterns(patterns)).toEqual([]);
  expect(patterns.filter(({ source }) => (source.match(UNBOUNDED) ?? []).length > 1)).toEqual([]);
});

const CHARS = 64 * 1024;
const MS_MAX = 500;
const ATTEMPTS = 3;
/** Characters for each class of patterns. Characters of a pattern itself are added. */
const LETTERS = ['a', 'Z', '0', ' ', '-', '.', '_', '/', '@', '\u00e9', '\u3000'];

test('every contract pattern refuses 64 KB of each letter in linear time', () => {
  const patterns = new Map(storedPatterns(ROOT).map((pattern) => [`${pattern.flags} ${pattern.source}`, pattern]));
  expect(patterns.size).toBeGreaterThan(30);
  const slow: string[] = [];
  for (const { source, flags } of patterns.values()) {
    const pattern = new RegExp(source, flags);
    for (const letter of new Set([...LETTERS, ...source.replace(/\\u[0-9a-f]{4}/g, '')])) {
      for (const end of ['\u0001', '!', '\n']) {
        const text = letter.repeat(CHARS) + end;
        let bestMs = Infinity;
        for (let attempt = 0; attempt < ATTEMPTS && bestMs > MS_MAX; attempt += 1) {
          const startMs = performance.now();
          pattern.test(text);
          bestMs = performance.now() - startMs;
        }
        if (bestMs > MS_MAX) slow.push(`${source} with ${letter}`);
      }
    }
  }
  expect(slow).toEqual([]);
});
