import { writeFileSync } from 'node:fs';
import { arch, cpus } from 'node:os';
import type { Totals } from './run/run-seeds.js';

/** Fewer seeds say too little to be kept. */
const SEEDS_MIN = 1_000;
const RESULTS = new URL('../results.md', import.meta.url);

/** Keeps the figures of a long run that has broken no rule. */
export function writeResults(totals: Totals, run: { readonly from: number; readonly seconds: number }): void {
  if (totals.seeds < SEEDS_MIN) return;
  const rows: [string, string][] = [
    ['seeds', `${count(totals.seeds)} (${run.from} to ${run.from + totals.seeds - 1})`],
    ['rules broken', '0'],
    ['calls', count(totals.calls)],
    ['admitted, refused, faults', [totals.admitted, totals.refused, totals.faults].map(count).join(', ')],
    ['records', count(totals.records)],
    ['of them expired, settled after they had expired', [totals.expired, totals.settledLate].map(count).join(', ')],
    ['losses of the limit store', count(totals.limitStoreLosses)],
    ['accounts confirmed after one', count(totals.confirmed)],
    ['messages', count(totals.messages)],
    ['virtual hours', count(Math.round(totals.virtualMs / 3_600_000))],
    ['seconds', count(Math.round(run.seconds))],
    ['machine', `${cpus().length} × ${cpus()[0]?.model ?? arch()}, Node ${process.versions.node}`],
  ];
  const table = rows.map(([name, value]) => `| ${name} | ${value} |`);
  const head = '# Simulation\n\nWritten by `npm run prove:simulation`.\n\n|     |     |\n| --- | --- |\n';
  writeFileSync(RESULTS, `${head}${table.join('\n')}\n`);
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
