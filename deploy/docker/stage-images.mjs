// `node deploy/docker/stage-images.mjs DIRECTORY [--no-sbom] [image…]`: copies the files that each
// image needs at run time from the compiled checkout to DIRECTORY/<image>, and writes its SBOM with
// npm. Fetches nothing.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { IMAGES, ROOT, contentsOf } from './recipe.mjs';

/** Parts of the project's compiled code that only the compiler or a debugger reads. */
const LEFT_OUT = /(\.tsbuildinfo|\.d\.ts|\.map|\.test\.js)$/;
/** The first argument of an image with commands selects the program. */
const SELECT = `const [command = '', ...rest] = process.argv.slice(2);
const [program, ...words] = COMMANDS.get(command) ?? [];
if (program === undefined) {
  console.log(\`commands: \${[...COMMANDS.keys()].join(', ')}\`);
  process.exit(command === '' ? 0 : 64);
}
process.argv = [process.argv[0], new URL(program, import.meta.url).pathname, ...words, ...rest];
await import(\`./\${program}\`);
`;

const { values, positionals } = parseArgs({ options: { 'no-sbom': { type: 'boolean' } }, allowPositionals: true });
const [directory, ...chosen] = positionals;
const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
for (const name of chosen.length > 0 ? chosen : Object.keys(IMAGES)) {
  stage(name, resolve(directory, name));
  if (values['no-sbom'] !== true) writeSbom(resolve(directory, name));
}

function stage(name, target) {
  const { rooms, program, commands } = IMAGES[name];
  const { packages, parts, links, modules } = contentsOf(rooms);
  for (const path of [...parts, ...modules]) copy(path, target);
  for (const path of packages) {
    const {
      devDependencies: _,
      scripts: __,
      ...rest
    } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));
    writeJson(join(target, path, 'package.json'), rest);
  }
  for (const { path, target: to } of links) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    symlinkSync(relative(dirname(path), to), join(target, path));
  }
  writeJson(join(target, 'package.json'), {
    name: `gateway-${name}`,
    version,
    private: true,
    license,
    type: 'module',
    workspaces: packages,
  });
  const rows = Object.entries(commands ?? {}).map((row) => `  ${JSON.stringify(row)},\n`);
  const table = `const COMMANDS = new Map([\n${rows.join('')}]);\n`;
  writeFileSync(join(target, 'main.mjs'), program === undefined ? table + SELECT : `import './${program}';\n`);
}

/** Leaves out nested packages, because required ones are listed separately. */
function copy(path, target) {
  const source = join(ROOT, path);
  const isOwn = !path.includes('node_modules/');
  mkdirSync(dirname(join(target, path)), { recursive: true });
  cpSync(source, join(target, path), {
    recursive: true,
    filter: (file) => file !== join(source, 'node_modules') && !(isOwn && LEFT_OUT.test(file)),
  });
}

/**
 * Writes sbom.cdx.json (CycloneDX). The same packages give the same bytes: there is no time, and
 * the serial number is computed from the content.
 */
function writeSbom(target) {
  const stdout = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], { cwd: target, maxBuffer: 1 << 28 });
  const { serialNumber: _, metadata, components, dependencies, ...rest } = JSON.parse(stdout);
  const { timestamp: __, ...described } = metadata;
  const by = (key) => (one, other) => (one[key] < other[key] ? -1 : 1);
  const content = {
    metadata: described,
    components: components.sort(by('bom-ref')),
    dependencies: dependencies.map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.sort() })).sort(by('ref')),
  };
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const serial = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  writeJson(join(target, 'sbom.cdx.json'), { ...rest, serialNumber: `urn:uuid:${serial}`, ...content });
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
