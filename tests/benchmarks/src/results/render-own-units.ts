import { renderTable } from '@gateway/testkit';
import { BASE_COMMIT, findReached } from './factors.js';
import { formatNumber } from './statistics.js';
import type { OwnUnit } from './own-units.js';

const UNKNOWN = '–';

/**
 * Renders the section of values in their own unit. @param commit the other measured commit, or null
 */
export function renderOwnUnits(rows: readonly OwnUnit[], commit: string | null): string {
  const shown = (value: number): string => (Number.isFinite(value) ? whole(value) : UNKNOWN);
  const beside = commit === null ? [] : [commit];
  return [
    '## Figures in their own unit',
    renderTable(
      ['', 'this build', ...beside, `known of ${BASE_COMMIT}`, 'first step', 'aim', 'reached'],
      rows.map(({ what, ours, theirs, atFirst, aims }) => [
        what,
        shown(ours),
        ...beside.map(() => shown(theirs)),
        atFirst,
        whole(aims.firstStep),
        whole(aims.aim),
        findReached(ours, aims),
      ]),
    ),
  ].join('\n\n');
}

/** Formats integers without digits after the point. */
function whole(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en-US') : formatNumber(value);
}
