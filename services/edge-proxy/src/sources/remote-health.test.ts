import { expect, test } from '@jest/globals';
import { NEWS_COUNT_MS, restRank, type OwnHealth, type SourceNews } from './remote-health.js';

const NOW = 1_000_000;
const WELL = {
  failures: 0,
  coolUntilMs: 0,
  openUntilMs: 0,
  refusedUntilMs: 0,
  refusals: 0,
  doubts: [],
  probing: false,
};
const NEWS: SourceNews = {
  edge: 'e1',
  heardAtMs: NOW - 1_000,
  coolUntilMs: 0,
  openUntilMs: 0,
  probing: false,
  lastAtMs: NOW - 2_000,
  answeredElsewhere: false,
};
const COOLING: SourceNews = { ...NEWS, coolUntilMs: NOW + 1 };
const OPEN: SourceNews = { ...NEWS, openUntilMs: NOW + 1 };
const PROVEN: SourceNews = { ...OPEN, answeredElsewhere: true };
const PROBING: SourceNews = { ...NEWS, probing: true };
const tried = (lastAt: number | null, health: Partial<OwnHealth['health']> = {}): OwnHealth => ({
  lastAt,
  health: { ...WELL, ...health },
});
const OVER = { failures: 5, openUntilMs: NOW };

test.each<[string, OwnHealth | undefined, SourceNews[], number]>([
  ['nobody knows anything', undefined, [], 0],
  ['another edge has nothing bad to say', undefined, [NEWS], 0],
  ['another edge was told to wait, or refused', undefined, [COOLING], 1],
  ['that rest is over', undefined, [{ ...COOLING, coolUntilMs: NOW }], 0],
  ['one edge cannot reach it, and nothing else', undefined, [OPEN], 0],
  ['one edge cannot reach it, and was answered elsewhere since', undefined, [PROVEN], 1],
  ['two edges cannot reach it', undefined, [OPEN, { ...OPEN, edge: 'e2' }], 1],
  ['the breaker of one of the two is closed again', undefined, [OPEN, { ...NEWS, edge: 'e2' }], 0],
  ['two edges could not reach it, one of them long ago', undefined, [OPEN, silent({ ...OPEN, edge: 'e2' })], 0],
  ['its edge has been silent for three intervals', undefined, [silent(COOLING)], 0],
  ['its edge was heard just before that', undefined, [{ ...COOLING, heardAtMs: NOW - NEWS_COUNT_MS + 1 }], 1],
  ['an own attempt is older than the news', tried(NOW - 2_001), [COOLING], 1],
  ['an own attempt is as new as the news', tried(NOW - 2_000), [COOLING], 0],
  ['an own attempt is newer than the news', tried(NOW - 1), [COOLING, PROVEN], 0],
  [
    'an own attempt is newer than what one of two edges says',
    tried(NOW - 2_000),
    [OPEN, { ...OPEN, lastAtMs: NOW }],
    0,
  ],
  ['it rests here', tried(NOW, { coolUntilMs: NOW + 1 }), [], 2],
  ['it rests here, and others have nothing bad to say', tried(NOW, { openUntilMs: NOW + 1 }), [NEWS], 2],
  ['an own breaker has had its time: this edge probes', tried(NOW, OVER), [], 0],
  ['an own breaker has had its time, and another edge probes', tried(NOW, OVER), [PROBING], 2],
  ['that edge has fallen silent', tried(NOW, OVER), [silent(PROBING)], 0],
  ['another edge probes what is well here', tried(NOW), [PROBING], 0],
])('%s: %s', (_name, own, news, rank) => {
  expect(restRank(own, news, NOW)).toBe(rank);
});

function silent(news: SourceNews): SourceNews {
  return { ...news, heardAtMs: NOW - NEWS_COUNT_MS };
}
