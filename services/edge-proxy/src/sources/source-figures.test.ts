import { expect, test } from '@jest/globals';
import {
  toFiguresAt,
  FIGURES_HALF_MS,
  recordAttempt,
  NO_FIGURES,
  type AttemptFigures,
  type SourceStats,
} from './source-figures.js';

const NOW = 10_000_000;
const counts = (figures: SourceStats, nowMs: number): number[] => {
  const { attempts, errors, overQuota, attemptsBefore, errorsBefore, overQuotaBefore } = toFiguresAt(figures, nowMs);
  return [attempts + attemptsBefore, errors + errorsBefore, overQuota + overQuotaBefore];
};
const FAILED: AttemptFigures = { isError: true, isOverQuota: false, firstByteMs: null };
const answered = (firstByteMs: number): AttemptFigures => ({ ...FAILED, isError: false, firstByteMs });

test('attempts and errors count for one to two halves', () => {
  let figures = NO_FIGURES;
  for (let at = 0; at < 10; at += 1)
    figures = recordAttempt(figures, { ...FAILED, isError: at < 4, isOverQuota: at < 3 }, NOW);
  expect(counts(figures, NOW)).toEqual([10, 4, 3]);
  expect(counts(figures, NOW + FIGURES_HALF_MS - 1)).toEqual([10, 4, 3]);
  expect(counts(figures, NOW + FIGURES_HALF_MS)).toEqual([10, 4, 3]);
  const later = recordAttempt(figures, FAILED, NOW + FIGURES_HALF_MS);
  expect(counts(later, NOW + FIGURES_HALF_MS)).toEqual([11, 5, 3]);
  expect(counts(later, NOW + 2 * FIGURES_HALF_MS)).toEqual([1, 1, 0]);
  expect(counts(later, NOW + 3 * FIGURES_HALF_MS)).toEqual([0, 0, 0]);
});

test('a clock that goes back a little keeps the figures, and does not renew old ones', () => {
  const figures = recordAttempt(NO_FIGURES, FAILED, NOW);
  expect(counts(recordAttempt(figures, FAILED, NOW - 400), NOW - 400)).toEqual([2, 2, 0]);
  expect(counts(figures, NOW - FIGURES_HALF_MS)).toEqual([0, 0, 0]);
});

test('the time to the first byte is a moving average of attempts that have one', () => {
  let figures = recordAttempt(NO_FIGURES, answered(80), NOW);
  expect(figures.firstByteMs).toBe(80);
  figures = recordAttempt(figures, FAILED, NOW);
  expect(figures.firstByteMs).toBe(80);
  figures = recordAttempt(figures, answered(160), NOW);
  expect(figures.firstByteMs).toBe(90);
  for (let at = 0; at < 100; at += 1) figures = recordAttempt(figures, answered(160), NOW);
  expect(figures.firstByteMs).toBeCloseTo(160, 0);
});
