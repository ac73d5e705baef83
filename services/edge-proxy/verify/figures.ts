import { writeFileSync } from 'node:fs';
import { renderTable } from '@gateway/testkit';

/** Returns the number of cases: `short`, unless the environment variable sets another one. */
export function readCaseCount(variable: string, short: number): number {
  const cases = Number(process.env[variable] ?? short);
  if (!Number.isSafeInteger(cases) || cases < 1) throw new RangeError(`${variable} must be a positive integer`);
  return cases;
}

/** Prints a report. A run of full length also writes it to `.results/<name>.md`. */
export function writeReport(name: string, text: string, isFull: boolean): void {
  process.stdout.write(text);
  if (isFull) writeFileSync(new URL(`../../../.results/${name}.md`, import.meta.url), text);
}

/** Renders a table. The first row is the head; all columns are left-aligned. */
export function table([head = ['', ''], ...rows]: readonly (readonly [string, string])[]): string {
  return renderTable(head, rows, head.length);
}
