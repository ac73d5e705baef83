import { renderTable } from '@gateway/testkit';
import type { LossFigures } from './limit-store-loss.js';
import { LOSSES } from './lose-limit-store.js';

type Row = readonly string[];

const HEAD: Row = [
  'Loss',
  'losses',
  'answers of 500',
  'time of 500s, ms',
  'last 500 after Redis is back, ms',
  'all accounts served, ms',
  'calls admitted',
  'settled records',
  'records at 0',
  'differences',
];

/**
 * Renders the results of all losses as Markdown. Without a date, so that the same run gives the
 * same text.
 */
export function renderLosses(figures: readonly LossFigures[], seed: number): string {
  const rows = [
    ...LOSSES.map((loss) =>
      rowOf(
        `Redis ${loss}`,
        figures.filter((one) => one.loss === loss),
      ),
    ),
    rowOf('all', figures),
  ];
  return `# Loss of the limit store under load

\`npm run prove:redis -- --losses ${Math.floor(figures.length / LOSSES.length)} --seed ${seed}\`: two edges, two admissions, four accounts with plain and streamed calls, and a wallet
that running streams hold in full. Redis is flushed, killed and started on its data, or replaced by an empty one, in an order
that the seed decides; half of the times it stays away until clients notice. After each loss the answers that clients
read are compared with the ledger, record by record, and the limit store must be empty.

${renderTable(HEAD, rows)}

Times are median and most, over the losses. "Time of 500s" runs from the first to the last; all accounts are served when
each has read a whole answer (streams take more than half a second) of a call that began after the last 500.

A difference is any of: an answer other than 200 and the 500s \`admission_error\` and \`lookup_failed\` (for the held wallet:
other than 402 and these); a 200 without exactly one settled record of exactly its charge; a charge for another call; a
record that no client made; a wallet that is not its credit less its charges, or below zero; a stream over the
loss that does not end whole.
`;
}

function rowOf(name: string, figures: readonly LossFigures[]): Row {
  const sum = (read: (one: LossFigures) => number): string =>
    figures.reduce((total, one) => total + read(one), 0).toLocaleString('en');
  const spread = (read: (one: LossFigures) => number): string => {
    const sorted = figures.map(read).sort((one, other) => one - other);
    const [median = 0, most = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    return `${median.toLocaleString('en')}, ${most.toLocaleString('en')}`;
  };
  return [
    name,
    String(figures.length),
    sum(({ faults }) => faults),
    spread(({ faultsMs }) => faultsMs),
    spread(({ faultsSinceMs }) => faultsSinceMs),
    spread(({ servedMs }) => servedMs),
    sum(({ admitted }) => admitted),
    sum(({ settled }) => settled),
    sum(({ uncharged }) => uncharged),
    sum(({ differences }) => differences.length),
  ];
}
