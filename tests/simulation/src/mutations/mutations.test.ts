import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { listReplacements, plant } from './mutating-loader.js';
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

test.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))('%s: can be planted', (_name, mutation) => {
  const parts = listReplacements(mutation);
  const planted = new Set(parts.map(({ file }) => file));
  expect([planted.size, mutation.also?.file.endsWith('.lua') ?? false]).toEqual([parts.length, false]);
  for (const part of parts) {
    const isLua = part.file.endsWith('.lua');
    const texts = FILES.filter((file) => file.endsWith(isLua ? `/${part.file}` : part.file))
      .map((file) => readFileSync(file, 'utf8'))
      .filter((text) => text.includes(part.from));
    expect(texts).toHaveLength(1);
    expect(plant(part, texts[0]!)).not.toBe(texts[0]);
  }
});
