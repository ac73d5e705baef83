// Checks that everything cited by documents and comments exists; part of `npm run lint`. A
// citation is `docs/<page>.md`, with or without an anchor, or `docs/decisions/<number>`. Links in a
// document are relative to it.
import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const TEXT = /\.(?:[cm]?[jt]sx?|md|sql|lua|ya?ml|sh|css|html|json)$|^\.ci\/run$/;
/** Files of programs, of other owners or of providers, and the file with planted violations. */
const NOT_OURS =
  /(?:^|\/)(?:generated|goldens)\/|^libs\/contracts\/src\/providers\/[\w-]+\/(?:facts|responses)\.json$|^package-lock\.json$|^libs\/contracts\/specification\/|^tools\/check\/src\/citations\.test\.ts$/;
/** Pages that are cited by their path from the root of the repository. */
const CITATION = /(?<![\w./-])((?:docs|libs\/contracts\/specification)\/[\w./-]+\.md)(?:#([\w-]+))?/g;
const NUMBERED = /(?<![\w./-])docs\/decisions\/\d{4}(?![\w-])/g;
const LINK = /\]\(([^()\s]+)\)/g;
/** Numbers that have no meaning without their page or section. */
const OLD_FORMS = [
  /behaviour §\d/g,
  /behaviour, (?:section \d|Money\b|Envelopes\b)/g,
  /\bmoney[ -]and[ -]failure\b/g,
  /\bperformance, point \d/g,
  /\((?:interfaces|performance|stack|structure|style), [A-Z][\w ]*\)/g,
  /\bdecision \d+\b/g,
  /(?<!\b(?:key:?|authentication:|limits:|errors:) )\b[Rr]ules? \d+\b/g,
  /\binvariants? \d+\b/g,
];

/**
 * Returns missing citations as `<file>: <citation> <problem>`.
 * @param {ReadonlyMap<string, string>} files texts of all tracked files by path from the root
 * @param {ReadonlySet<string>} paths all tracked files, also those without text
 * @returns {string[]}
 */
export function brokenCitations(files, paths) {
  const directories = new Set([...paths].flatMap(parents));
  const anchors = new Map();
  const problemOf = (path, anchor) => {
    if (!paths.has(path) && !directories.has(path)) return 'is not there';
    if (anchor === undefined || !path.endsWith('.md')) return null;
    if (!anchors.has(path)) anchors.set(path, anchorsOf(files.get(path) ?? ''));
    return anchors.get(path).has(anchor) ? null : 'has no such anchor';
  };
  const numbered = new Set([...paths].map((path) => path.replace(/-.*/, '')));
  const broken = [];
  for (const [file, text] of files) {
    if (NOT_OURS.test(file)) continue;
    const note = (cited, problem) => problem !== null && broken.push(`${file}: ${cited} ${problem}`);
    for (const [cited, path, anchor] of text.matchAll(CITATION)) note(cited, problemOf(path, anchor));
    for (const [cited] of text.matchAll(NUMBERED)) note(cited, numbered.has(cited) ? null : 'is not there');
    if (file.endsWith('.md')) {
      for (const [, link] of prose(text).matchAll(LINK)) {
        if (/^[a-z]+:/.test(link)) continue;
        const [path, anchor] = link.split('#');
        const target = path === '' ? file : posix.join(posix.dirname(file), path).replace(/\/$/, '');
        note(link, problemOf(target, anchor));
      }
    }
    const unlinked = file.endsWith('.md') ? text.replace(/\[[^\]]*\]\([^)]*\)/g, '') : text;
    const flat = unlinked.replace(/\n[ \t]*(?:\*(?!\/)|\/\/|--|#)?[ \t]*/g, ' ');
    for (const form of OLD_FORMS) for (const [cited] of flat.matchAll(form)) note(cited, 'is not a link');
  }
  return broken;
}

/** Removes code, in which brackets are not links. */
function prose(text) {
  return text.replace(/^[ ]*```[\s\S]*?^[ ]*```/gm, '').replace(/`[^`\n]*`/g, '');
}

/** Returns the anchors of a document: its headings in GitHub's form, and its explicit anchors. */
function anchorsOf(text) {
  const bare = text.replace(/^[ ]*```[\s\S]*?^[ ]*```/gm, '');
  const found = new Set([...bare.matchAll(/<a id="([\w-]+)"><\/a>/g)].map(([, id]) => id));
  const counts = new Map();
  for (const [, heading] of bare.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    found.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return found;
}

function parents(path) {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_part, index) => parts.slice(0, index + 1).join('/'));
}

/**
 * Returns the tracked and new files of a repository, and the texts of those that are not links.
 * @param {string} root
 */
export function trackedFiles(root) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const deleted = execFileSync('git', ['ls-files', '-z', '--deleted'], { cwd: root, encoding: 'utf8' });
  const paths = new Set(listed.split('\0').filter((path) => path !== ''));
  for (const path of deleted.split('\0')) paths.delete(path);
  const files = new Map();
  for (const path of paths)
    if (TEXT.test(path) && lstatSync(`${root}/${path}`).isFile())
      files.set(path, readFileSync(`${root}/${path}`, 'utf8'));
  return { files, paths };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { files, paths } = trackedFiles(fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, ''));
  const broken = brokenCitations(files, paths);
  for (const line of broken) console.error(line);
  if (broken.length > 0) process.exit(1);
}
