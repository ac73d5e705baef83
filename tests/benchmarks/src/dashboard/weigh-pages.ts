import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { DIRECTORIES } from '../context.js';
import { type Section, table } from '../report.js';

const KIB = 1024;
/** Static imports of a built chunk, and imports that wait until a page is opened. */
const STATIC = /(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g;
const LATER = /import\(\s*["'`]\.\/([\w.-]+\.js)["'`]\s*\)/g;

/** Renders the compressed files that a browser loads first, and those that each page adds. */
export function weighPages(): Section {
  const dist = `${DIRECTORIES.checkout}/services/dashboard/web/dist`;
  const html = readFileSync(`${dist}/index.html`, 'utf8');
  const read = (file: string): Buffer => readFileSync(`${dist}/assets/${file}`);
  const find = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name = '']) => name);
  const importsOf = (file: string, pattern: RegExp): string[] => find(read(file).toString(), pattern);
  const closureOf = (files: readonly string[]): Set<string> => {
    const closure = new Set(files);
    for (const file of closure) for (const name of importsOf(file, STATIC)) closure.add(name);
    return closure;
  };
  const row = (name: string, files: readonly string[]): string[] => {
    const bytes = files.reduce((sum, file) => sum + gzipSync(read(file)).length, 0);
    return [name, String(files.length), (bytes / KIB).toFixed(1)];
  };
  const first = closureOf(find(html, /src="\/assets\/([\w.-]+\.js)"/g));
  const fonts = readdirSync(`${dist}/assets`).filter((file) => file.endsWith('.woff2'));
  const pages = [...new Set([...first].flatMap((file) => importsOf(file, LATER)))].map((page) => {
    const added = [...closureOf([page])].filter((file) => !first.has(file));
    return row(`added by ${page.replace(/-[\w-]{8}\.js$/, '')}`, added);
  });
  return table(
    'What a browser loads, gzip',
    ['', 'files', 'KiB'],
    [
      row('scripts', [...first]),
      row('styles', find(html, /href="\/assets\/([\w.-]+\.css)"/g)),
      row('fonts, at most', fonts),
      ...pages.sort((one, other) => Number(other[2]) - Number(one[2])),
    ],
  );
}
