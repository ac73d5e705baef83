import { renderTable } from '@gateway/testkit';
import type { LossFigures } from './limit-store-loss.js';
import { LOSSES } from './lose-limit-store.js';

type Row = readonly string[];

const HEAD: Row = [
  'Loss',
  'losses',
  'responses with 500',
  'time of 500s, ms',
  'last 500 after Redis is back, ms',
  'all accounts served, ms',
  'requests admitted',
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

\`npm run prove:redis -- --losses ${Math.floor(figures.length / LOSSES.length)} --seed ${seed}\`: two edges, two replicas of admission, four accounts with plain and streamed
requests, and a wallet that running streams hold completely. Redis is flushed, killed and restarted with its data, or replaced by an
empty one, in an order that the seed determines. In half of the cases it stays down until a client gets a 500. After each loss the
responses are compared with the ledger, record by record, and the limit store must be empty.

${renderTable(HEAD, rows)}

Times are median and maximum over the losses. "Time of 500s" runs from the first to the last 500. All accounts are served when each
has read a complete response (streams take more than half a second) to a request that began after the last 500.

A difference is any of: a response other than 200 and the 500s \`admission_error\` and \`lookup_failed\` (for the held wallet:
other than 402 and these); a 200 without exactly one settled record of its exact charge; a charge for another request; a record
without a client; a wallet that is not its credit minus its charges, or below zero; a stream during the loss that does not end
complete.
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
