import { renderTable } from '@gateway/testkit';
import { BASE_COMMIT, type Factor, ROUNDS_MIN, SPAN_MAX, findReached } from './factors.js';
import { formatNumber } from './statistics.js';

const NOISY_MARK = ' ‡';

/**
 * Renders the section "this build ÷ commit". Includes first steps and aims for {@link BASE_COMMIT}.
 */
export function renderFactors(commit: string, factors: readonly Factor[]): string {
  const isBase = commit.startsWith(BASE_COMMIT);
  const wanted = isBase ? ['first step', 'aim', 'reached'] : [];
  const rows = factors.map(({ what, aims, ours, theirs, factor, rounds, isNoisy }) => [
    what,
    formatNumber(ours),
    formatNumber(theirs),
    formatNumber(factor.median) + (isNoisy ? NOISY_MARK : ''),
    `${formatNumber(factor.min)} to ${formatNumber(factor.max)}`,
    String(rounds),
    ...(isBase ? [formatNumber(aims.firstStep), formatNumber(aims.aim), findReached(factor.median, aims)] : []),
  ]);
  const noisy = factors.filter(({ isNoisy }) => isNoisy).length;
  return [
    `## This build ÷ ${commit}`,
    renderTable(['', 'this build', commit, 'factor', 'rounds from to', 'rounds', ...wanted], rows),
    'Figures are medians over the rounds; the factor is the median of the factors within each round.',
    ...(noisy === 0 ? [] : [noiseOf(noisy, factors.length)]),
  ].join('\n\n');
}

function noiseOf(noisy: number, all: number): string {
  return (
    `${NOISY_MARK.trim()} ${noisy} of ${all} rows are too noisy to tell a difference of 5 %: fewer than ${ROUNDS_MIN} ` +
    `rounds, or the middle half of them spans more than ${SPAN_MAX * 100} % of the median. Run again on a quiet machine.`
  );
}
