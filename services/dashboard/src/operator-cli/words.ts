import type { ModelMargin } from '../price-lists/compare.js';
import { figuresByName, type Difference, type Prices } from '../price-lists/prices.js';
import { formatUsd } from '@gateway/metering';

/** Cells under each other, two blanks apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

/** `input 0.12, output 0.60`: USD, of tokens per million. */
export function pricesInWords(prices: Prices | null): string {
  if (prices === null) return 'none';
  return [...figuresByName(prices)].map(([name, usd]) => `${name} ${usd}`).join(', ');
}

export function differencesInWords(differences: readonly Difference[]): string {
  return differences.map(({ name, before, after }) => `${name} ${before ?? 'none'} -> ${after ?? 'none'}`).join(', ');
}

/** `16.6 %`: of the price, at the figure that leaves least. */
export function marginInWords({ cost, leastTenths }: ModelMargin): string {
  if (cost === null) return 'margin not known: no cost is known';
  if (leastTenths === null) return 'margin not known';
  const sign = leastTenths < 0 ? '-' : '';
  const tenths = Math.abs(leastTenths);
  return `margin ${sign}${Math.trunc(tenths / 10)}.${tenths % 10} %`;
}

/** A line for each price that is less than its cost. */
export function belowCostInWords(modelId: string, { below }: ModelMargin): string[] {
  return below.map(
    ({ sourceId, figure: { name, price, cost } }) =>
      `BELOW COST ${modelId}: ${name} is sold for ${formatUsd(price)} and costs ${formatUsd(cost)} at ${sourceId}`,
  );
}

/** Prices of a list that the catalog has no place for. */
export function unreadInWords(unread: readonly string[]): string[] {
  return unread.length === 0 ? [] : [`  not read: ${unread.join(', ')}`];
}
