import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ANTHROPIC_COMPATIBLE, OPENAI_COMPATIBLE, PROFILES } from '@gateway/contracts/providers';
import { expect, test } from '@jest/globals';
import { analyse } from 'scslre';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

interface Pattern {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}

/** Returns the patterns that may need more than linear time. */
const slowPatterns = (patterns: readonly Pattern[]): string[] =>
  patterns.flatMap(({ where, ...pattern }) =>
    analyse(pattern).reports.length === 0 ? [] : [`${where}: ${pattern.source}`],
  );

/** Returns the patterns of the documents that clients read. */
function storedPatterns(): Pattern[] {
  const found: Pattern[] = [];
  for (const where of readdirSync(`${ROOT}docs/api`).filter((name) => name.endsWith('.json')))
    JSON.parse(readFileSync(`${ROOT}docs/api/${where}`, 'utf8'), (key, source: unknown) => {
      if (key === 'pattern' && typeof source === 'string') found.push({ where, source, flags: '' });
      return source;
    });
  return found;
}

/** Returns the slow patterns that the linter's configuration finds in a file at this path. */
function lint(path: string, text: string): string[] {
  const root = mkdtempSync(`${tmpdir()}/gateway-patterns-`);
  try {
    const config = JSON.parse(readFileSync(`${ROOT}.oxlintrc.json`, 'utf8')) as object;
    symlinkSync(`${ROOT}node_modules`, `${root}/node_modules`);
    writeFileSync(`${root}/.oxlintrc.json`, JSON.stringify({ ...config, options: {} }));
    mkdirSync(dirname(`${root}/${path}`), { recursive: true });
    writeFileSync(`${root}/${path}`, text);
    const { stdout } = spawnSync(`${ROOT}node_modules/.bin/oxlint`, [path], { cwd: root, encoding: 'utf8' });
    expect(stdout).toMatch(/^Finished in .* on 1 file/m);
    return stdout.match(/regexp\(no-super-linear-\w+\)/g) ?? [];
  } finally {
    rmSync(root, { recursive: true });
  }
}

test.each([
  ['an exponential literal', 'const a = /^(a+)+$/;', 'backtracking'],
  ['a quadratic literal', 'const a = /^ *([^=; ]+)=([^;]*?) *$/;', 'backtracking'],
  ['a literal that starts anywhere', "text.replace(/\\s+$/, '')", 'move'],
  ['a composed pattern', "const A = '[^a]'; const b = new RegExp(`^${A}*[^ab]${A}*$`, 'u');", 'backtracking'],
  ['a joined pattern', "const b = RegExp('^x*' + 'x*y$');", 'backtracking'],
  ['a raw pattern', 'const b = new RegExp(String.raw`^\\w+\\d+$`);', 'backtracking'],
])('lint finds %s in production code, but not in tests', (_, text, rule) => {
  expect(lint('services/a/src/b.ts', text)).toEqual([`regexp(no-super-linear-${rule})`]);
  expect(lint('services/a/src/b.test.ts', text)).toEqual([]);
});

test('lint accepts linear patterns', () => {
  const text = 'const a = /^[a-z]+-[0-9]+$/; const b = new RegExp(unknown); const c = /(?<!0)0+$/;';
  expect(lint('libs/a/src/b.ts', text)).toEqual([]);
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
  const patterns = new Map(storedPatterns().map((pattern) => [pattern.source, pattern]));
  expect(patterns.size).toBeGreaterThan(30);
  expect(slowPatterns([...patterns.values()])).toEqual([]);
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
