import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { useMemoryDirectory } from '../memory-directory.mjs';

const memory = mkdtempSync(join(tmpdir(), 'gateway-memory-'));
afterAll(() => rmSync(memory, { recursive: true, force: true }));

test('temporary files go into memory if there is room, and the database can enter', () => {
  const env: Record<string, string> = {};
  const directory = useMemoryDirectory(env, memory, 1);
  expect(env['TMPDIR']).toBe(directory);
  expect(existsSync(directory ?? '')).toBe(true);
  expect(statSync(directory ?? '').mode & 0o777).toBe(0o711);
});

test('old files of a killed run are removed, those of a new or active run are not', () => {
  // Above every process ID of Linux.
  const left = {
    old: 'gateway-tests-4194305-a',
    young: 'gateway-tests-4194306-a',
    runs: `gateway-tests-${process.pid}-a`,
  };
  for (const name of Object.values(left)) mkdirSync(join(memory, name));
  const twoHoursAgo = Date.now() / 1_000 - 7_200;
  for (const name of [left.old, left.runs]) utimesSync(join(memory, name), twoHoursAgo, twoHoursAgo);
  useMemoryDirectory({}, memory, 1);
  expect(Object.values(left).map((name) => existsSync(join(memory, name)))).toEqual([false, true, true]);
});

test.each([
  ['there is too little room', {}, memory, Number.MAX_SAFE_INTEGER],
  ['there is no such place', {}, '/no/such/place', 1],
  ['somebody chose another place', { TMPDIR: '/elsewhere' }, memory, 1],
])('nothing changes if %s', (_why, env: Record<string, string>, place, bytesMin) => {
  const before = { ...env };
  expect(useMemoryDirectory(env, place, bytesMin)).toBeNull();
  expect(env).toEqual(before);
});
