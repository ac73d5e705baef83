// Compares the size and the wording of the repository with `limits.json`, and finds comments that
// are too wide: `npm run lint` runs it.
// `--lower` writes each value that is below its limit. Only a feature may raise `productLines`.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { trackedFiles } from './citations.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
const LIMITS = new URL('limits.json', import.meta.url);

const CODE = /\.(?:[cm]?[jt]sx?|lua|sql|go|py|sh|css)$|^\.ci\/run$|Dockerfile$/;
const TEST = /\.test\.tsx?$|(?:^|\/)test\//;
const RECORDED = /^libs\/contracts\/src\/providers\/[\w-]+\/responses\.json$|^tests\/e2e\/test\/agent-requests\.json$/;
const DATA = /(?:^|\/)(?:generated|goldens)\/|\.golden\.txt$|\.(?:json|ya?ml)$/;
const NOT_COUNTED = /^package-lock\.json$|(?:^|\/)package\.json$|(?:^|\/)tsconfig[\w.]*\.json$/;
/** Code that verifies, measures, starts or rehearses the product. */
const SUPPORT =
  /^(?:deploy|tests|tools(?!\/operations\/)|\.ci|services\/[\w-]+\/verify|services\/dashboard\/web\/fixtures)\/|^[^/]+$/;
const SMALL_LINES_MAX = 25;
/** The copy of a program that has another home. */
const COUNTER = 'tools/check/count.mjs';

/**
 * Counts lines of code and data, and files of code with at most 25 lines. Tests, documents,
 * recorded responses and the lockfile are not counted.
 * @param {ReadonlyMap<string, string>} files texts of all tracked files by path from the root
 */
export function countSizes(files) {
  const sizes = { productLines: 0, supportLines: 0, dataLines: 0, smallFiles: 0, rootScripts: 0 };
  for (const [file, text] of files) {
    if (file === 'package.json') sizes.rootScripts = Object.keys(JSON.parse(text).scripts).length;
    const lines = text.split('\n').length - 1;
    if (NOT_COUNTED.test(file) || RECORDED.test(file)) continue;
    if (DATA.test(file)) sizes.dataLines += lines;
    else if (CODE.test(file) && !TEST.test(file)) {
      sizes[SUPPORT.test(file) ? 'supportLines' : 'productLines'] += lines;
      if (lines <= SMALL_LINES_MAX) sizes.smallFiles += 1;
    }
  }
  return sizes;
}

/**
 * Reads the table of `count.mjs`: replaced phrases per 1,000 words by kind of text.
 * @param {string} table
 * @returns {Record<string, number>}
 */
export function phrasesPerThousand(table) {
  const rows = table.split('\n').map((line) => line.split('\t'));
  return Object.fromEntries(rows.slice(1, -2).map(([kind, , , rate]) => [kind, Number(rate)]));
}

/**
 * Returns a sentence for each value above its limit.
 * @param {Record<string, number>} values
 * @param {Record<string, number>} limits
 * @returns {string[]}
 */
export function exceededLimits(values, limits) {
  return Object.entries(values)
    .filter(([name, value]) => !(value <= limits[name]))
    .map(
      ([name, value]) =>
        `${name}: ${value}, at most ${limits[name]}. Remove some, see docs/english.md and CONTRIBUTING.md.`,
    );
}

/** Maximum width of a line with a comment. */
const COMMENT_COLUMNS_MAX = 100;
const COMMENT_LINE = /^\s*(?:\/\*\*|\*|\/\/)/;
/** Comments that must be on one line. */
const DIRECTIVE = /(?:ox|es)lint-|@typedef/;

/**
 * Lists comments that are too wide for two columns on a screen, as `<file>:<line>: <columns>
 * columns`.
 * @param {ReadonlyMap<string, string>} files texts of all tracked files by path from the root
 * @returns {string[]}
 */
export function wideComments(files) {
  const found = [];
  for (const [file, text] of files) {
    if (!/\.(?:tsx?|mjs)$/.test(file) || DATA.test(file) || file === COUNTER) continue;
    for (const [at, line] of text.split('\n').entries()) {
      if (line.length <= COMMENT_COLUMNS_MAX || !COMMENT_LINE.test(line) || DIRECTIVE.test(line)) continue;
      found.push(`${file}:${at + 1}: a comment of ${line.length} columns, at most ${COMMENT_COLUMNS_MAX}`);
    }
  }
  return found;
}

/** Options to count the commits since this one. Without it in the history, the last 60 count. */
function commitsSince(commit) {
  try {
    execFileSync('git', ['merge-base', '--is-ancestor', commit, 'HEAD'], { cwd: ROOT, stdio: 'ignore' });
    return ['--since', commit];
  } catch {
    return [];
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { since, ...limits } = JSON.parse(readFileSync(LIMITS, 'utf8'));
  const counter = fileURLToPath(new URL('count.mjs', import.meta.url));
  const table = execFileSync('node', [counter, ROOT, ...commitsSince(since)], { encoding: 'utf8' });
  const { files } = trackedFiles(ROOT);
  const values = { ...countSizes(files), ...phrasesPerThousand(table) };
  const exceeded = [...exceededLimits(values, limits), ...wideComments(files)];
  for (const line of exceeded) console.error(line);
  if (process.argv.includes('--lower')) {
    const lower = Object.entries(values).map(([name, value]) => [name, Math.min(value, limits[name] ?? Infinity)]);
    writeFileSync(LIMITS, `${JSON.stringify({ since, ...Object.fromEntries(lower) }, null, 2)}\n`);
  }
  if (exceeded.length > 0) process.exit(1);
}
