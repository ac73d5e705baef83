import { expect, test } from '@jest/globals';
import { countSizes, exceededLimits, phrasesPerThousand, wideComments } from '../limits.mjs';

const lines = (count: number): string => 'x\n'.repeat(count);

test('countSizes() separates product, support and data and leaves out tests', () => {
  const files = new Map([
    ['services/billing/src/wallets/store.ts', lines(100)],
    ['services/billing/src/wallets/store.test.ts', lines(900)],
    ['services/billing/test/world.ts', lines(900)],
    ['services/billing/verify/month.ts', lines(30)],
    ['tests/benchmarks/src/main.ts', lines(25)],
    ['docs/api/public.openapi.json', lines(7)],
    ['libs/contracts/src/providers/openai/responses.json', lines(900)],
    ['package.json', JSON.stringify({ scripts: { start: 'a', test: 'b' } })],
    ['package-lock.json', lines(900)],
    ['README.md', lines(900)],
  ]);
  expect(countSizes(files)).toEqual({
    productLines: 100,
    supportLines: 55,
    dataLines: 7,
    smallFiles: 1,
    rootScripts: 2,
  });
});

test('phrasesPerThousand() reads the rate of each kind of text', () => {
  const table = 'kind\twords\thits\tper 1000\tx\ndocs\t1000\t2\t2.0\t2\ncommits\t100\t0\t0.0\t0\nall\t1100\t2\t1.8\n';
  expect(phrasesPerThousand(table)).toEqual({ docs: 2, commits: 0 });
});

test('exceededLimits() names a value above its limit and a value without a limit', () => {
  expect(exceededLimits({ docs: 2, titles: 3, other: 1 }, { docs: 2, titles: 2.9 })).toEqual([
    expect.stringContaining('titles: 3, at most 2.9.'),
    expect.stringContaining('other: 1, at most undefined.'),
  ]);
});

test.each([
  ['/** %s */', 1],
  ['   * %s', 1],
  ['  // %s', 1],
  ['// eslint-disable-next-line %s', 0],
  ["const text = '%s';", 0],
])('a line of 100 words in %j is a wide comment %i times', (form, times) => {
  const text = form.replace('%s', 'word '.repeat(100));
  expect(wideComments(new Map([['services/a/src/b.ts', text]]))).toHaveLength(times);
});
