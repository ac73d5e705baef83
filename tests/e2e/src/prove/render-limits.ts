import { renderTable } from '@gateway/testkit';
import type { LimitCase } from './limit-cases.js';
import { IN_FLIGHT, REPLICAS } from './limit-verification.js';
import type { LimitFigures } from './limit-verification.js';

type Row = readonly string[];

const HEAD: Row = [
  'Limit',
  'promise',
  'calls',
  'fit',
  'admitted',
  'overshoot',
  'slots',
  'most at once',
  'kills',
  '500s',
  'expired',
  'seconds',
  'differences',
];
const PROMISES: Readonly<Record<LimitCase['promise'], string>> = {
  exact: 'exactly',
  overshoot: 'and the slots',
  at_once: 'at a time',
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
  return `# Every limit under parallel calls while admission is killed

\`npm run prove:limits -- --calls ${calls} --seed ${seed}\`: ${REPLICAS['edge-proxy']} edges, ${REPLICAS.admission} admissions, ${IN_FLIGHT} calls in flight. Each limit has an account of
its own on which nothing else binds. A random replica of admission is killed (SIGKILL), started again, and so on, as long
as the calls run. Of limits in requests, caps and the wallet every tenth call that is admitted fails at the provider and
gives its place back. When nothing runs any more single calls follow until five in a row are refused.

${renderTable(HEAD, rows, WORD_COLUMNS)}

"exactly": as many calls are answered as fit. "and the slots": as many as fit and at most as many more as there are slots,
none of them begun after as many were answered as fit and a refusal had said that it is used up; calls that meet the slots
are repeated and not counted. A refusal may say so early: what a killed replica was told of settled calls counts twice for
some seconds, until their holds are asked for.
"at a time": the provider never saw more calls at once. "per minute": in each clock minute those that came first; the
clock minutes are those of the limit store.

A difference is any of: another number of admitted calls; an answer of another limit; a wrong Retry-After; an answered call
without exactly one settled record of its cent; a charge for another call; a wallet that is not its credit less what it
paid; a usage endpoint that shows anything else. Slots, holds and held sums are gone before anything is compared. 500s are
the answers \`admission_error\` and \`lookup_failed\`; expired are places taken for calls that were not made.
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
