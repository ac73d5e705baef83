import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Relative to `dist/src/prove`. Ignored by git. */
const DIRECTORY = new URL('../../../../../.results/', import.meta.url);

/** Whether `--from` is valid: `new` starts again, `last` continues the previous results. */
export function isFrom(text: string | undefined): text is 'new' | 'last' | undefined {
  return text === undefined || text === 'new' || text === 'last';
}

/** Reads the results of earlier runs; null if there are none. */
export function readFigures<Figures>(proof: string): Figures | null {
  const file = fileURLToPath(new URL(`${proof}.json`, DIRECTORY));
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Figures) : null;
}

/** Writes the results for later runs, and the report. */
export function writeFigures(proof: string, figures: object, page: string): void {
  writeFileSync(new URL(`${proof}.json`, DIRECTORY), `${JSON.stringify(figures, null, 1)}\n`);
  writeFileSync(new URL(`${proof}.md`, DIRECTORY), page);
}
