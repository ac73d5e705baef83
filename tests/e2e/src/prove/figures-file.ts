import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Relative to `dist/src/prove`. Ignored by git. */
const DIRECTORY = new URL('../../../../../.results/', import.meta.url);

/** What `--from` may say: begin anew, or go on with the figures of the runs before. */
export function isFrom(text: string | undefined): text is 'new' | 'last' | undefined {
  return text === undefined || text === 'new' || text === 'last';
}

/** The figures that runs before have left of a proof made in parts; null: there are none. */
export function readFigures<Figures>(proof: string): Figures | null {
  const file = fileURLToPath(new URL(`${proof}.json`, DIRECTORY));
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Figures) : null;
}

/** Keeps them for the runs to come, and writes the page that they make beside them. */
export function writeFigures(proof: string, figures: object, page: string): void {
  writeFileSync(new URL(`${proof}.json`, DIRECTORY), `${JSON.stringify(figures, null, 1)}\n`);
  writeFileSync(new URL(`${proof}.md`, DIRECTORY), page);
}
