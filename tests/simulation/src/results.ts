import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus } from 'node:os';
import { NO_TOTALS, addTotals, type Totals } from './run/run-seeds.js';

/** Results of fewer seeds are not saved. */
const SEEDS_MIN = 1_000;
const RESULTS = new URL('../../../.results/simulation.md', import.meta.url);
const FIGURES = new URL('../../../.results/simulation.json', import.meta.url);

/** Results of seeds that have broken no rule. */
export interface Results {
  readonly asked: { readonly seeds: number; readonly from: number };
  readonly totals: Totals;
  readonly seconds: number;
}

/** Returns the results of an interrupted run with the same seeds, or empty results. */
export function loadResults(asked: Results['asked'], isAnew: boolean): Results {
  const begun = { asked, totals: NO_TOTALS, seconds: 0 };
  if (isAnew || !existsSync(FIGURES)) return begun;
  const before = JSON.parse(readFileSync(FIGURES, 'utf8')) as Results;
  const isSame = before.asked.seeds === asked.seeds && before.asked.from === asked.from;
  return isSame && before.totals.seeds < asked.seeds ? before : begun;
}

/** Adds the results of the next seeds and saves them if the run is large enough. */
export function addResults({ asked, ...before }: Results, totals: Totals, seconds: number): Results {
  const results = { asked, totals: addTotals(before.totals, totals), seconds: before.seconds + seconds };
  if (asked.seeds >= SEEDS_MIN) {
    writeFileSync(FIGURES, `${JSON.stringify(results, null, 1)}\n`);
    writeFileSync(RESULTS, render(results));
  }
  return results;
}

function render({ asked: { from }, totals, seconds }: Results): string {
  const rows: [string, string][] = [
    ['seeds', `${count(totals.seeds)} (${from} to ${from + totals.seeds - 1})`],
    ['rules broken', '0'],
    ['calls', count(totals.calls)],
    [
      'admission responses: admitted, refused, faults',
      [totals.admitted, totals.refused, totals.faults].map(count).join(', '),
    ],
    ['records', count(totals.records)],
    ['expired records, records settled after expiry', [totals.expired, totals.settledLate].map(count).join(', ')],
    ['losses of the limit store', count(totals.limitStoreLosses)],
    ['accounts confirmed after a loss', count(totals.confirmed)],
    ['messages', count(totals.messages)],
    ['virtual hours', count(Math.round(totals.virtualMs / 3_600_000))],
    ['seconds', count(Math.round(seconds))],
    ['machine', `${cpus().length} × ${cpus()[0]?.model ?? arch()}, Node ${process.versions.node}`],
  ];
  const table = rows.map(([name, value]) => `| ${name} | ${value} |`);
  const head = '# Simulation\n\nWritten by `npm run prove:simulation`.\n\n|     |     |\n| --- | --- |\n';
  return `${head}${table.join('\n')}\n`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
