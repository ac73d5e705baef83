import type { PriceProposalView } from '@gateway/contracts/operator';
import type { ModelMargin } from '../price-lists/compare.js';
import { differences, figuresByName, type Difference, type Prices } from '../price-lists/prices.js';
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

export function differencesInWords(all: readonly Difference[]): string {
  return all.map(({ name, before, after }) => `${name} ${before ?? 'none'} -> ${after ?? 'none'}`).join(', ');
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

/** A proposal: since when, by which lists, old and new figures, and how it is applied. */
export function proposalInWords({ id, lists, changes, reported, raisedAt, checkedAt }: PriceProposalView): string[] {
  const lines = [
    `proposal ${id}, of ${raisedAt}, last compared ${checkedAt}. Prices in USD, of tokens per million.`,
    ...lists.map((list) => `  ${list}`),
    ...changes.map(
      ({ kind, objectId, modelId, before, after }) =>
        `${kind} ${objectId}${kind === 'source' ? ` (${modelId})` : ''}: ${differencesInWords(differences(before, after))}`,
    ),
    ...reported.map(
      ({ sourceId, modelId, requests, computedUsd, reportedUsd }) =>
        `source ${sourceId} (${modelId}): the provider charged ${reportedUsd} for ${requests} requests that cost ` +
        `${computedUsd} by its costs`,
    ),
  ];
  if (changes.length === 0 && reported.length === 0) return [...lines, 'No differences.'];
  if (changes.length === 0) return [...lines, 'No list has other figures: compare the costs with an invoice.'];
  return [
    ...lines,
    'Nothing is applied. `operator prices proposal --document > proposal.json` writes the document, and',
    '`operator apply -f proposal.json` applies it.',
  ];
}
