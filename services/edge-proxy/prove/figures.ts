import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

const SEED_MAX = 2 ** 31;

/** `GATEWAY_PROVE_SEED` repeats a run; otherwise each one has a seed of its own, which it prints. */
export function seedOfRun(): number {
  const seed = Number(process.env['GATEWAY_PROVE_SEED'] ?? randomInt(1, SEED_MAX));
  if (!Number.isSafeInteger(seed)) throw new RangeError('GATEWAY_PROVE_SEED must be an integer');
  return seed;
}

/** How many cases a run has: `short` in every test run, more where the variable says so. */
export function casesOfRun(variable: string, short: number): number {
  const cases = Number(process.env[variable] ?? short);
  if (!Number.isSafeInteger(cases) || cases < 1) throw new RangeError(`${variable} must be a positive integer`);
  return cases;
}

/** Prints a report, and commits it to `file` of this folder when the run was as long as one that may be quoted. */
export function writeReport(file: string, text: string, isLongEnough: boolean): void {
  process.stdout.write(text);
  if (isLongEnough) writeFileSync(new URL(file, import.meta.url), text);
}

/** As {@link writeReport}, of a file with several reports: replaces the one under this heading. */
export function writeSection(file: string, heading: string, text: string, isLongEnough: boolean): void {
  process.stdout.write(text);
  if (!isLongEnough) return;
  const url = new URL(file, import.meta.url);
  const [top = '', ...sections] = readFileSync(url, 'utf8').split(/^## /m);
  const at = sections.findIndex((section) => section.startsWith(`${heading}\n`));
  if (at < 0) throw new Error(`${file} has no heading ${heading}`);
  const isLast = at === sections.length - 1;
  sections[at] = `${heading}\n\n${text}${isLast ? '' : '\n'}`;
  writeFileSync(url, [top, ...sections].join('## '));
}

/** Markdown as the formatter would write it: the first row is the head. */
export function table(rows: readonly (readonly [string, string])[]): string {
  const widths = [0, 1].map((column) => Math.max(3, ...rows.map((row) => (row[column] as string).length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] as number)).join(' | ')} |`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  const [head, ...body] = rows.map(line);
  return [head, rule, ...body].join('\n');
}
