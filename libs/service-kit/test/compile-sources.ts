import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

const ROOM = fileURLToPath(new URL('..', import.meta.url));

export interface CompiledSources {
  /** Contains the compiled package. A script in this directory imports it as `./index.js`. */
  readonly directory: string;
  remove(): void;
}

/**
 * Compiles the sources of this package for a plain Node process, so that a test of a whole process
 * does not depend on an earlier build. The directory is inside the package, where its dependencies
 * can be resolved.
 */
export function compileSources(): CompiledSources {
  const cache = join(ROOM, '.cache');
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(join(cache, 'compiled-'));
  const files = readdirSync(join(ROOM, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  for (const name of sources) {
    const { code } = transformSync(readFileSync(join(ROOM, 'src', name), 'utf8'), {
      filename: name,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'es6' },
    });
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name.replace(/\.ts$/, '.js')), code);
  }
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
