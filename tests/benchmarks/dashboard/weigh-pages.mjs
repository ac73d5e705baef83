// Computes how many bytes a browser fetches for each page, compressed.
import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const DIST = new URL('../../../services/dashboard/web/dist/', import.meta.url);
const KIB = 1024;
/** Static imports of a built chunk, and imports that wait until a page is opened. */
const STATIC = /(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g;
const LATER = /import\(\s*["'`]\.\/([\w.-]+\.js)["'`]\s*\)/g;

/** Renders a table of the files that every page needs and the files that each page adds. */
export function weighPages() {
  const html = readFileSync(new URL('index.html', DIST), 'utf8');
  const textOf = (file) => readFileSync(new URL(`assets/${file}`, DIST), 'utf8');
  const kib = (files) => {
    const bytes = files.reduce(
      (total, file) => total + gzipSync(readFileSync(new URL(`assets/${file}`, DIST))).length,
      0,
    );
    return (bytes / KIB).toFixed(1);
  };
  const [, entry] = /src="\/assets\/([\w.-]+\.js)"/.exec(html);
  const first = closureOf([entry], textOf);
  const styles = [...html.matchAll(/href="\/assets\/([\w.-]+\.css)"/g)].map(([, file]) => file);
  const fonts = readdirSync(new URL('assets/', DIST)).filter((file) => file.endsWith('.woff2'));
  const pages = [...new Set([...first].flatMap((file) => [...textOf(file).matchAll(LATER)].map(([, name]) => name)))];
  const rows = pages
    .map((page) => {
      const added = [...closureOf([page], textOf)].filter((file) => !first.has(file));
      return { name: page.replace(/-[\w-]{8}\.js$/, ''), files: added.length, size: kib(added) };
    })
    .sort((one, other) => Number(other.size) - Number(one.size));
  return `## What a browser fetches (KiB, gzip)

| First load | Files | KiB |
| ---------- | ----: | --: |
| Scripts    | ${first.size} | ${kib([...first])} |
| Styles     | ${styles.length} | ${kib(styles)} |
| Fonts      | at most ${fonts.length} | ${kib(fonts)} |

| Added by a lazy chunk | Files | KiB |
| --------------------- | ----: | --: |
${rows.map(({ name, files, size }) => `| ${name} | ${files} | ${size} |`).join('\n')}
`;
}

/** Returns the files and all their static imports. */
function closureOf(files, textOf) {
  const closure = new Set(files);
  for (const file of closure) {
    for (const [, name] of textOf(file).matchAll(STATIC)) closure.add(name);
  }
  return closure;
}
