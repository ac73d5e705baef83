import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FILES_MAX = 65;
const LINES_MAX = 400;

/** Returns the files in the list of ARCHITECTURE.md, in order. Folders precede their files. */
function listFiles(): string[] {
  const text = readFileSync(`${ROOT}ARCHITECTURE.md`, 'utf8');
  const list = /### The files of a request[^]*?```\n([^]*?)```/.exec(text)?.[1] ?? '';
  let folder = '';
  return list.split(/\s+/).flatMap((word) => {
    if (!word.endsWith('/')) return /\.\w+$/.test(word) ? [`${folder}${word}`] : [];
    folder = word;
    return [];
  });
}

test('the list of a request has at most 65 files of at most 400 lines', () => {
  const files = listFiles();
  expect(files[0]).toBe('services/edge-proxy/src/http/serve.ts');
  expect(files.length).toBeLessThanOrEqual(FILES_MAX);
  expect(new Set(files).size).toBe(files.length);
  const missing = files.filter((file) => !existsSync(`${ROOT}${file}`));
  expect(missing).toEqual([]);
  const long = files.filter((file) => readFileSync(`${ROOT}${file}`, 'utf8').split('\n').length - 1 > LINES_MAX);
  expect(long).toEqual([]);
});

test('the list of a request has every file that handleModelCall imports', () => {
  const folder = 'services/edge-proxy/src/call/';
  const imported = readFileSync(`${ROOT}${folder}handle-model-call.ts`, 'utf8').matchAll(/from '\.\/(.+)\.js'/g);
  const steps = Array.from(imported, ([, name]) => `${folder}${name}.ts`);
  expect(steps).toHaveLength(5);
  expect(listFiles()).toEqual(expect.arrayContaining(steps));
});
