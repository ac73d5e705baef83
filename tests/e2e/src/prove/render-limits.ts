import { renderTable } from '@gateway/testkit';
import type { LimitCase } from './limit-cases.js';
import { IN_FLIGHT, REPLICAS } from './limit-verification.js';
import type { LimitFigures } from './limit-verification.js';

type Row = readonly string[];

const HEAD: Row = [
  'Limit',
  'promise',
  'requests',
  'fit',
  'admitted',
  'overshoot',
  'slots',
  'most concurrent',
  'kills',
  '500s',
  'expired',
  'seconds',
  'differences',
];
const PROMISES: Readonly<Record<LimitCase['promise'], string>> = {
  exact: 'exactly',
  overshoot: 'plus slots',
  at_once: 'concurrent',
  per_minute: 'per minute',
};
/** The columns "Limit" and "promise" contain text. */
const WORD_COLUMNS = 2;

/** Renders the results of all limits as Markdown, without a date. */
export function renderLimits(figures: readonly LimitFigures[], calls: number, seed: number): string {
  const rows = figures.map(({ limit, ...one }): Row => {
    const isTaken = limit.promise === 'at_once';
    return [
      limit.name,
      PROMISES[limit.promise],
      ...[one.calls, isTaken ? one.slots : one.fit, one.admitted].map(inThousands),
      limit.promise === 'overshoot' ? inThousands(one.overshoot) : '',
      ...[one.slots, one.atOnce, one.kills, one.faults, one.expired].map(inThousands),
      (one.ms / 1000).toFixed(1),
      inThousands(one.differences.length),
    ];
  });
  return `# Every limit under parallel requests while admission is killed

\`npm run prove:limits -- --calls ${calls} --seed ${seed}\`: ${REPLICAS['edge-proxy']} edges, ${REPLICAS.admission} replicas of admission, ${IN_FLIGHT} requests in flight. Each limit has a
separate account without another effective limit. During the load a random replica of admission is repeatedly killed (SIGKILL) and
restarted. For limits in requests, caps and the wallet, every tenth admitted request fails at the provider and returns its place. After
the load, single requests follow until five in a row are refused.

${renderTable(HEAD, rows, WORD_COLUMNS)}

Promises:

- "exactly": the limit admits the number that fits.
- "plus slots": the limit admits the number that fits, and at most one more per slot. No request that is admitted above the limit began
  after the limit was used up and had refused a request. Requests that the slots refuse are repeated and not counted. A refusal may come
  early: settled amounts whose balance snapshot was lost with a killed replica count twice for some seconds, until their holds are requested.
- "concurrent": the provider never has more requests at the same time.
- "per minute": in each clock minute of the limit store, the first requests are admitted.

A difference is any of: another number of admitted requests; a refusal by another limit; a wrong Retry-After; a response without
exactly one settled record of one cent; a charge for another request; a wallet that is not its credit minus its charges; a wrong
usage endpoint. Slots, holds and held amounts are released before the comparison. 500s are the errors \`admission_error\` and
\`lookup_failed\`; expired are places of requests that were not made.
${differencesOf(figures)}`;
}

/** Renders the differences as a list; empty if there are none. */
function differencesOf(figures: readonly LimitFigures[]): string {
  const sentences = figures.flatMap(({ differences }) => differences);
  return sentences.length === 0 ? '' : `\nDifferences:\n\n${sentences.map((sentence) => `- ${sentence}\n`).join('')}`;
}

function inThousands(count: number): string {
  return count.toLocaleString('en');
}
