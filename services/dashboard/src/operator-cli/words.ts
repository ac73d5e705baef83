import type { PriceProposalView } from '@gateway/contracts/operator';
import type { ModelMargin } from '../price-lists/compare.js';
import { differences, figuresByName, type Difference, type Prices } from '../price-lists/prices.js';
import { formatUsd } from '@gateway/metering';

/** Formats rows as columns, two blanks apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

/** Formats prices as `input 0.12, output 0.60`, in USD per million tokens. */
export function formatPrices(prices: Prices | null): string {
  if (prices === null) return 'none';
  return [...figuresByName(prices)].map(([name, usd]) => `${name} ${usd}`).join(', ');
}

export function formatDifferences(all: readonly Difference[]): string {
  return all.map(({ name, before, after }) => `${name} ${before ?? 'none'} -> ${after ?? 'none'}`).join(', ');
}

/** Formats the lowest margin of a model's prices as `margin 16.6 %`. */
export function formatMargin({ cost, leastTenths }: ModelMargin): string {
  if (cost === null) return 'margin unknown: no cost is known';
  if (leastTenths === null) return 'margin unknown';
  const sign = leastTenths < 0 ? '-' : '';
  const tenths = Math.abs(leastTenths);
  return `margin ${sign}${Math.trunc(tenths / 10)}.${tenths % 10} %`;
}

/** Returns a line for each price that is lower than its cost. */
export function formatBelowCost(modelId: string, { below }: ModelMargin): string[] {
  return below.map(
    ({ sourceId, figure: { name, price, cost } }) =>
      `BELOW COST ${modelId}: ${name} is sold for ${formatUsd(price)} and costs ${formatUsd(cost)} at ${sourceId}`,
  );
}

/** Names the list's prices that the catalog cannot store. */
export function formatUnread(unread: readonly string[]): string[] {
  return unread.length === 0 ? [] : [`  not read: ${unread.join(', ')}`];
}

/** Formats a proposal: dates, lists, old and new figures, and how to apply it. */
export function formatProposal({ id, lists, changes, reported, raisedAt, checkedAt }: PriceProposalView): string[] {
  const lines = [
    `proposal ${id}, of ${raisedAt}, last compared ${checkedAt}. Prices in USD, token prices per million tokens.`,
    ...lists.map((list) => `  ${list}`),
    ...changes.map(
      ({ kind, objectId, modelId, before, after }) =>
        `${kind} ${objectId}${kind === 'source' ? ` (${modelId})` : ''}: ${formatDifferences(differences(before, after))}`,
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
