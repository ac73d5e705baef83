// `node deploy/docker/stage-image.mjs <package> <directory>`: copies exactly the files that one
// compiled package needs at run time. Fetches nothing.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, contentsOf } from './image-contents.mjs';

/** Parts of the project's compiled code that only the compiler or a debugger reads. */
const LEFT_OUT = /(\.tsbuildinfo|\.d\.ts|\.map|\.test\.js)$/;
/** Programs of packages without `dist/main.js`. */
const PROGRAMS = { 'tools/operations': 'dist/migrate-main.js' };

const [room, target] = process.argv.slice(2);
if (!room || !target || !existsSync(join(ROOT, room, 'dist'))) {
  console.error('name a compiled package, e.g. services/billing, and a directory');
  process.exit(1);
}
for (const { from, to } of contentsOf(room)) copy(from, to);
const { name, version, license, dependencies } = JSON.parse(readFileSync(join(ROOT, room, 'package.json'), 'utf8'));
const top = { name, version, private: true, license, type: 'module', ...(dependencies ? { dependencies } : {}) };
writeFileSync(join(target, 'package.json'), `${JSON.stringify(top, null, 2)}\n`);
writeFileSync(join(target, 'main.mjs'), `import './${room}/${PROGRAMS[room] ?? 'dist/main.js'}';\n`);

/** Leaves out nested packages, because required ones are listed separately. */
function copy(from, to) {
  const source = join(ROOT, from);
  const isOwn = !from.includes('node_modules/');
  mkdirSync(dirname(join(target, to)), { recursive: true });
  cpSync(source, join(target, to), {
    recursive: true,
    filter: (file) => file !== join(source, 'node_modules') && !(isOwn && LEFT_OUT.test(file)),
  });
}
