import { writeFileSync } from 'node:fs';
import { renderTable } from '@gateway/testkit';

/** A shorter run writes nothing, because its results would replace those of a longer one. */
const SEQUENCES_REPORTED = 10_000;

export interface ModelRun {
  readonly sequences: number;
  readonly steps: number;
  readonly seed: number;
  readonly ms: number;
  /** Number of answers by kind. */
  readonly answers: ReadonlyMap<string, number>;
}

/** Writes the results of a long run to `.results/model.md`. */
export function writeModelFigures({ sequences, steps, seed, ms, answers }: ModelRun): void {
  if (sequences < SEQUENCES_REPORTED) return;
  const text = `# Proof of the decision

\`npm run verify:model\`: plays random sequences of ${steps} steps to the scripts, on a separate Redis, and to a
model without counters. After each step it compares answers with their numbers, holds, slots, held sums, settled balances, the
open session, and the result of the usage endpoint. \`TEST_SEED\` repeats a run.
\`GATEWAY_VERIFY_MODEL_MINUTES\` ends a run before it has played 100,000 sequences.

${table([
  ['', ''],
  ['sequences', sequences.toLocaleString('en')],
  ['steps', (sequences * steps).toLocaleString('en')],
  ['seed', String(seed)],
  ['differences', '0'],
  ['time', `${(ms / 1_000).toFixed(0)} s`],
])}

Refusals are listed by code; admitted and repeated calls by payer.

${table([['answer', 'times'], ...[...answers].sort(byName).map(([name, times]): [string, string] => [name, times.toLocaleString('en')])])}
`;
  writeFileSync(new URL('../../../.results/model.md', import.meta.url), text);
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  return renderTable(head, rows, head.length);
}

function byName([one]: [string, number], [other]: [string, number]): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
