import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { plant } from './mutating-loader.js';
import { MUTATIONS } from './mutations.js';

/** Files that mistakes are planted into: scripts and compiled modules. */
const SERVICES = fileURLToPath(new URL('../../../../services/', import.meta.url));
const FILES = readdirSync(SERVICES).flatMap((service) =>
  ['dist', 'lua'].flatMap((folder) => filesOf(`${SERVICES}${service}/${folder}`)),
);

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`);
  } catch {
    return [];
  }
}

test('the table of the README lists the planted mistakes, and whether they are found', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [, table = ''] = readme.split('| Planted mistake ');
  const rows = [...table.matchAll(/^\| (.+?) +\| (not in )?\d+ +\|/gm)].map(([, name = '', missed]) => ({
    name: name.replaceAll(/\[r\d+\]\(\.\.\/\.\.\/(docs\/protocol\.md#r\d+)\)/g, '$1'),
    isFound: missed === undefined,
  }));
  expect(rows).toEqual(MUTATIONS.map(({ name, isFound }) => ({ name, isFound })));
});

test.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
  '%s: can be planted',
  (_name, { changes }) => {
    const planted = new Set(changes.map(({ file }) => file));
    expect([planted.size, changes.slice(1).filter(({ file }) => file.endsWith('.lua'))]).toEqual([changes.length, []]);
    for (const change of changes) {
      const isLua = change.file.endsWith('.lua');
      const texts = FILES.filter((file) => file.endsWith(isLua ? `/${change.file}` : change.file))
        .map((file) => readFileSync(file, 'utf8'))
        .filter((text) => text.includes(change.from));
      expect(texts).toHaveLength(1);
      expect(plant(change, texts[0]!)).not.toBe(texts[0]);
    }
  },
);
