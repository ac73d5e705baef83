import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { brokenCitations, trackedFiles } from '../citations.mjs';

const PAGE =
  '# The page\n\n<a id="r1"></a>\n\n## 1. First, and `code`\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n';

/** Checks a repository with one page and this file. */
function found(file: string, text: string): string[] {
  const files = new Map([
    ['docs/page.md', PAGE],
    ['docs/decisions/0007-a-record.md', '# 0007 A record\n'],
    ['services/a/picture.svg', ''],
    [file, text],
  ]);
  return brokenCitations(files, new Set(files.keys())).map((line) => line.slice(file.length + 2));
}

test('trackedFiles() returns the texts of the repository', () => {
  const { files } = trackedFiles(fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/, ''));
  expect(files.size).toBeGreaterThan(1_000);
  expect(files.get('README.md')).toMatch(/^# /);
});

test.each([
  ['// see docs/page.md#r2', ['docs/page.md#r2 has no such anchor']],
  ['/** Twice (docs/nowhere.md#r1). */', ['docs/nowhere.md#r1 is not there']],
  ['// docs/page.md#no-heading', ['docs/page.md#no-heading has no such anchor']],
  [
    '// (docs/decisions/0008), docs/decisions/0007-a-racord.md',
    ['docs/decisions/0007-a-racord.md is not there', 'docs/decisions/0008 is not there'],
  ],
  ['// (rule 7)', ['rule 7 is not a link']],
  ['/**\n * It must (money\n * and failure).\n */', ['money and failure is not a link']],
  ['-- (behaviour §3)', ['behaviour §3 is not a link']],
  ['// (interfaces, Operator API)', ['(interfaces, Operator API) is not a link']],
  ['// decision 12, invariants 2 to 5; performance, point 4', expect.arrayContaining(['decision 12 is not a link'])],
])('the comment %j is reported', (text, wanted) => {
  expect(found('services/a/src/b.ts', text)).toEqual(wanted);
});

test.each([
  '// docs/page.md, docs/page.md#r1. docs/page.md#1-first-and-code (docs/page.md#twice-1)',
  '-- (docs/decisions/0007): docs/decisions/0007. docs/decisions/0007-a-record.md',
  "covers: ['limits: rule 4 request body', 'api key: rule 2']; test('key rule 4: rotation');",
])('the comment %j is accepted', (text) => {
  expect(found('services/a/src/b.ts', text)).toEqual([]);
});

test('links in a document are relative to it, and code has no links', () => {
  const lawful = [
    '[a](../../docs/page.md#r1)',
    '[b](#here)',
    '[c](picture.svg)',
    '[d](https://example.com/x)',
    '[e](..)',
  ];
  const text = ['# Here', ...lawful, '[rule 1](../../docs/page.md#r1)', '`[x](y)`', '```', '[x](y)', '```'].join(
    '\n\n',
  );
  expect(found('services/a/README.md', text)).toEqual([]);
  const broken = '# Here\n\n[a](page.md) [b](#there) [c](../../docs/page.md#r9)\n';
  expect(found('services/a/README.md', broken)).toEqual([
    'page.md is not there',
    '#there has no such anchor',
    '../../docs/page.md#r9 has no such anchor',
  ]);
});
