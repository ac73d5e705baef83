import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readArgument, toArguments, listLuaPositions } from './script-rules.js';

const FOLDER = new URL('../../lua/', import.meta.url);

test('scripts read keys from 1, and arguments after those of every run', () => {
  const positions = listLuaPositions();
  const wanted = [
    'KEY.epoch',
    'KEY.key_record',
    'ADMIT.mode',
    'ADMIT.is_counted',
    'TAKE.size',
    'RELEASE_HOLD.admitted',
  ];
  expect(wanted.map((name) => positions.get(name))).toEqual([1, 6, 3, 4, 4, 1]);
});

test('no script accesses a key or an argument by a number', () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.lua'));
  expect(files).toContain('admit.lua');
  const bare = files.flatMap((name) => {
    const text = readFileSync(new URL(name, FOLDER), 'utf8').replaceAll(/--.*/g, '');
    return Array.from(text.matchAll(/\b\w+\[(?:\w+ \+ )?\d+\]/g), ([found]) => `${name}: ${found}`);
  });
  expect(bare).toEqual([]);
});

test('values are written in the order of the table', () => {
  const args = toArguments('TAKE', { id: 'call', account: 'payer' });
  expect(args).toEqual(['payer', 'call']);
  expect(readArgument('TAKE', 'id', args)).toBe('call');
});
