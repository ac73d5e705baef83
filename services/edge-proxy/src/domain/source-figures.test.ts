import { expect, test } from '@jest/globals';
import { figuresAt, FIGURES_HALF_MS, noteAttempt, NO_FIGURES, type SourceFigures } from './source-figures.js';

const NOW = 10_000_000;
const counts = (figures: SourceFigures, nowMs: number): number[] => {
  const { attempts, errors, attemptsBefore, errorsBefore } = figuresAt(figures, nowMs);
  return [attempts + attemptsBefore, errors + errorsBefore];
};

test('attempts and errors count for one to two halves', () => {
  let figures = NO_FIGURES;
  for (let at = 0; at < 10; at += 1) figures = noteAttempt(figures, { isError: at < 4, firstByteMs: null }, NOW);
  expect(counts(figures, NOW)).toEqual([10, 4]);
  expect(counts(figures, NOW + FIGURES_HALF_MS - 1)).toEqual([10, 4]);
  expect(counts(figures, NOW + FIGURES_HALF_MS)).toEqual([10, 4]);
  const later = noteAttempt(figures, { isError: true, firstByteMs: null }, NOW + FIGURES_HALF_MS);
  expect(counts(later, NOW + FIGURES_HALF_MS)).toEqual([11, 5]);
  expect(counts(later, NOW + 2 * FIGURES_HALF_MS)).toEqual([1, 1]);
  expect(counts(later, NOW + 3 * FIGURES_HALF_MS)).toEqual([0, 0]);
});

test('a clock that goes back makes no old figure new', () => {
  const figures = noteAttempt(NO_FIGURES, { isError: true, firstByteMs: null }, NOW);
  expect(counts(figures, NOW - 1)).toEqual([0, 0]);
});

test('the time to the first byte is an average that follows; attempts without one do not change it', () => {
  let figures = noteAttempt(NO_FIGURES, { isError: false, firstByteMs: 80 }, NOW);
  expect(figures.firstByteMs).toBe(80);
  figures = noteAttempt(figures, { isError: true, firstByteMs: null }, NOW);
  expect(figures.firstByteMs).toBe(80);
  figures = noteAttempt(figures, { isError: false, firstByteMs: 160 }, NOW);
  expect(figures.firstByteMs).toBe(90);
  for (let at = 0; at < 100; at += 1) figures = noteAttempt(figures, { isError: false, firstByteMs: 160 }, NOW);
  expect(figures.firstByteMs).toBeCloseTo(160, 0);
});
