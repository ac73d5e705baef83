// Finds words in identifiers, comments and documents that the glossary has retired, and comments
// that are too wide; part of `npm run lint`.
import { fileURLToPath } from 'node:url';
import { trackedFiles } from './citations.mjs';

/** Words that this project coined. Words with another ordinary meaning are not on the list. */
const RETIRED = new Map([
  ['door', 'handler'],
  ['desk', 'client'],
  ['verdict', 'heartbeat reply'],
  ['standing', 'balance snapshot'],
  ['incarnation', 'ledger epoch'],
  ['gate', 'limit store'],
  ['beat', 'heartbeat'],
  ['brake', 'back-pressure'],
  ['crew', 'supervisor'],
  ['rung', 'resolver'],
  ['setaside', 'dead letter'],
  ['asked gauge', 'polled gauge'],
  ['passing map', 'ephemeral map'],
  ['trouble log', 'throttled log'],
  ['waiting sweep', 'on-demand timer'],
]);

/** Names that users, stored data or other releases use. The search ignores them. */
const PUBLIC = [
  // Environment variables and metrics.
  /\bGATEWAY_[A-Z0-9_]+\b|\bgateway_[a-z0-9_]+\b/g,
  // Alerts, their runbooks and dashboards.
  /\bGateway[A-Z][A-Za-z]+\b/g,
];

/** Files written by programs, owned by others, or describing the retired words. */
const NOT_OURS =
  /(?:^|\/)(?:generated|goldens|dist)\/|^libs\/contracts\/specification\/|^docs\/(?:glossary|english)\.md$|^CHANGELOG\.md$|^tools\/operations\/ENVIRONMENT\.md$|^tools\/check\/(?:words\.mjs|count\.mjs|src\/words\.test\.ts)$/;

const TOKENS =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|[A-Za-z_$][\w$]*/g;
/** In a sentence these two words are plain English. */
const SET_ASIDE = /\bset aside\b/i;
const FORMS = [...RETIRED].map(([word, standard]) => ({
  standard,
  form: new RegExp(`(?<![a-z-])${word.replace(' ', '[ -]?')}s?(?![a-z-])`, 'i'),
  word,
}));

/**
 * Lists retired words as `<file>:<line>: <word>, better <standard word>`.
 * @param {ReadonlyMap<string, string>} files texts of all tracked files by path from the root
 * @returns {string[]}
 */
export function retiredWords(files) {
  const found = [];
  for (const [file, text] of files) {
    if (!/\.(?:tsx?|mjs|md)$/.test(file) || NOT_OURS.test(file)) continue;
    const bare = PUBLIC.reduce((rest, name) => rest.replace(name, (match) => ' '.repeat(match.length)), text);
    for (const { at, words } of file.endsWith('.md') ? proseOf(bare) : namesOf(bare)) {
      for (const { form, word, standard } of FORMS) {
        if (form.test(words)) found.push(`${file}:${lineOf(bare, at)}: ${word}, better ${standard}`);
      }
    }
  }
  return found;
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
    if (!/\.(?:tsx?|mjs)$/.test(file) || NOT_OURS.test(file)) continue;
    for (const [at, line] of text.split('\n').entries()) {
      if (line.length <= COMMENT_COLUMNS_MAX || !COMMENT_LINE.test(line) || DIRECTIVE.test(line)) continue;
      found.push(`${file}:${at + 1}: a comment of ${line.length} columns, at most ${COMMENT_COLUMNS_MAX}`);
    }
  }
  return found;
}

/** Returns the lines of a document without its code. */
function proseOf(text) {
  const prose = text
    .replace(/^[ ]*```[\s\S]*?^[ ]*```/gm, (code) => code.replace(/[^\n]/g, ' '))
    .replace(/`[^`\n]*`|\]\([^)]*\)/g, (code) => ' '.repeat(code.length));
  return [...prose.matchAll(/[^\n]+/g)].map(({ index, 0: words }) => ({ at: index, words }));
}

/** Returns identifiers, split into words, and comments of a program, without its strings. */
function namesOf(text) {
  return [...text.matchAll(TOKENS)].flatMap(({ index, 0: token }) => {
    if (/^['"`]/.test(token)) return [];
    if (token.startsWith('/')) {
      return [...token.matchAll(/[^\n]+/g)].map((line) => ({ at: index + line.index, words: line[0] }));
    }
    const words = token.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[_$]+/g, ' ');
    return [{ at: index, words: words.replace(SET_ASIDE, 'setaside') }];
  });
}

function lineOf(text, at) {
  return text.slice(0, at).split('\n').length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { files } = trackedFiles(fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, ''));
  const found = [...retiredWords(files), ...wideComments(files)];
  for (const line of found) console.error(line);
  if (found.length > 0) process.exit(1);
}
