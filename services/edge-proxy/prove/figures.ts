import { readFileSync, writeFileSync } from 'node:fs';
import { renderTable } from '@gateway/testkit';

/** How many cases a run has: `short` in every test run, more where the variable says so. */
export function casesOfRun(variable: string, short: number): number {
  const cases = Number(process.env[variable] ?? short);
  if (!Number.isSafeInteger(cases) || cases < 1) throw new RangeError(`${variable} must be a positive integer`);
  return cases;
}

/**
 * Prints a report, and commits it to `file` of this folder when the run was as long as one that may
 * be quoted.
 */
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

/** The first row is the head; all of it stands to the left. */
export function table([head = ['', ''], ...rows]: readonly (readonly [string, string])[]): string {
  return renderTable(head, rows, head.length);
}
