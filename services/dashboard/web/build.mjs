// Builds the pages into `dist`. Imports the bundler only if an input changed, so that an unchanged
// build takes a few milliseconds.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const LOCKFILE = fileURLToPath(new URL('../../../package-lock.json', import.meta.url));
const STAMP = `${HERE}.cache/built.txt`;
const INPUTS = ['build.mjs', 'index.html', 'package.json', 'public', 'src'];

const digest = digestOfInputs();
if (isBuilt()) process.exit(0);

const startedAt = performance.now();
const { build } = await import('vite');
const { default: react } = await import('@vitejs/plugin-react');
await build({
  root: HERE,
  configFile: false,
  envDir: false,
  logLevel: 'warn',
  plugins: [react()],
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // No data: URLs, so that the content security policy stays narrow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
  },
});
mkdirSync(`${HERE}.cache`, { recursive: true });
writeFileSync(STAMP, digest);
console.log(`pages built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);

function isBuilt() {
  return existsSync(`${HERE}dist/index.html`) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === digest;
}

function digestOfInputs() {
  const hash = createHash('sha256').update(readFileSync(LOCKFILE));
  for (const file of INPUTS.flatMap(filesOf).sort()) {
    hash.update(`\0${file}\0`).update(readFileSync(`${HERE}${file}`));
  }
  return hash.digest('hex');
}

function filesOf(input) {
  const entries = input.includes('.') ? null : readdirSync(`${HERE}${input}`, { recursive: true, withFileTypes: true });
  if (entries === null) return [input];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath.slice(HERE.length)}/${entry.name}`);
}
