import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { temporaryDirectory } from '@gateway/testkit';
import { createPrivateFile, dumpFile, readManifest, writeManifest } from './manifest.js';

const directory = temporaryDirectory('private-backup');
const umask = process.umask();
afterEach(() => void process.umask(umask));
afterAll(() => directory.remove());

test.each([0o000, 0o022, 0o277])('the files of a backup have mode 0600 with the umask %i', (mask) => {
  const path = `${directory.path}/${mask}`;
  mkdirSync(path);
  chmodSync(path, 0o777);
  process.umask(mask);
  createPrivateFile(dumpFile(path));
  // Like pg_dump, which opens the file for writing.
  writeFileSync(dumpFile(path), 'dump', { mode: 0o666 });
  writeManifest(path, { form: 1, madeAt: '', postgresMajor: 18, sha256: '', figures: {} as never });
  const modes = readdirSync(path).map((name) => statSync(`${path}/${name}`).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600]);
  expect(readFileSync(dumpFile(path), 'utf8')).toBe('dump');
  expect(() => createPrivateFile(dumpFile(path))).toThrow('EEXIST');
});

test('readManifest() names the complete backups of a directory that is not a backup', async () => {
  const all = `${directory.path}/all`;
  for (const name of ['2026-11-30T01-20-00.000Z', '2026-11-29T01-20-00.000Z', 'unfinished'])
    mkdirSync(`${all}/${name}`, { recursive: true });
  await expect(readManifest(all)).rejects.toThrow('has no backup.json; backups in it: none');
  for (const name of ['2026-11-30T01-20-00.000Z', '2026-11-29T01-20-00.000Z'])
    writeManifest(`${all}/${name}`, { form: 1, madeAt: '', postgresMajor: 18, sha256: '', figures: {} as never });
  await expect(readManifest(`${all}/`)).rejects.toThrow(
    'backups in it: 2026-11-29T01-20-00.000Z, 2026-11-30T01-20-00.000Z',
  );
});
