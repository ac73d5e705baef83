import { afterAll, expect, test } from '@jest/globals';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryState } from '../test/temporary-state.js';
import { prepareNative } from './embedded-postgres.js';
import { serverUser } from './run-command.js';

const state = temporaryState();
const asRoot = serverUser() ? test : test.skip;

afterAll(() => state.removeAll());

test('prepareNative() creates the library links of the install script', async () => {
  const root = await state.make();
  await chmod(root, 0o755);
  const native = await makeNative(root, [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]);
  expect(await prepareNative(native, join(root, 'cache'))).toBe(native);
  expect(await readFile(join(native, 'lib', 'libpq.so.5'), 'utf8')).toBe('library');
  expect(await prepareNative(native, join(root, 'cache'))).toBe(native);
});

asRoot('unreachable binaries are copied once, also by two concurrent calls', async () => {
  const root = await state.make();
  const native = await makeNative(root, [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]);
  const [first, second] = await Promise.all([
    prepareNative(native, join(root, 'a')),
    prepareNative(native, join(root, 'b')),
  ]);
  expect(first).toMatch(/^\/var\/tmp\//);
  expect(second).toBe(first);
  expect(await readFile(join(first, 'lib', 'libpq.so.5'), 'utf8')).toBe('library');
  await rm(dirname(first), { recursive: true });
});

test('prepareNative() refuses links that lead out of the package', async () => {
  const root = await state.make();
  await chmod(root, 0o755);
  const native = await makeNative(root, [{ source: 'native/../../x', target: 'native/lib/x' }]);
  await expect(prepareNative(native, join(root, 'cache'))).rejects.toThrow('leads out of its package');
});

async function makeNative(root: string, links: { source: string; target: string }[]): Promise<string> {
  const native = join(root, 'native');
  await mkdir(join(native, 'bin'), { recursive: true });
  await mkdir(join(native, 'lib'));
  await writeFile(join(root, 'package.json'), '{"version": "18.4.0"}');
  await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify(links));
  await writeFile(join(native, 'lib', 'libpq.so.5.18'), 'library');
  await writeFile(join(native, 'bin', 'postgres'), '#!/bin/sh\necho "postgres (PostgreSQL) 18.4"\n', { mode: 0o755 });
  return native;
}
