import { writeFileSync } from 'node:fs';
import { renderTable } from '@gateway/testkit';

/** How many cases a run has: `short` in every test run, more where the variable says so. */
export function casesOfRun(variable: string, short: number): number {
  const cases = Number(process.env[variable] ?? short);
  if (!Number.isSafeInteger(cases) || cases < 1) throw new RangeError(`${variable} must be a positive integer`);
  return cases;
}

/** Prints a report. A run of full length also writes it to `.results/<name>.md`. */
export function writeReport(name: string, text: string, isFull: boolean): void {
  process.stdout.write(text);
  if (isFull) writeFileSync(new URL(`../../../.results/${name}.md`, import.meta.url), text);
}

/** The first row is the head; all of it stands to the left. */
export function table([head = ['', ''], ...rows]: readonly (readonly [string, string])[]): string {
  return renderTable(head, rows, head.length);
}
