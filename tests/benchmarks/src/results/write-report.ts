import { mkdirSync, writeFileSync } from 'node:fs';
import { renderReport } from './render-report.js';
import type { Report } from './report.js';

/** Writes the report as `<name>.md` and every sample as `<name>.json`. Returns the paths. */
export function writeReport(report: Report, directory: string, name: string): string[] {
  mkdirSync(directory, { recursive: true });
  const files: [string, string][] = [
    [`${directory}/${name}.md`, renderReport(report)],
    [`${directory}/${name}.json`, `${JSON.stringify(report, rounded, 2)}\n`],
  ];
  for (const [file, text] of files) writeFileSync(file, text);
  return files.map(([file]) => file);
}

/** Rounds to the precision of the clock. */
function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
}
