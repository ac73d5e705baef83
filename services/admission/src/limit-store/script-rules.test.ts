import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readArgument, toArguments, formatLuaPositions } from './script-rules.js';

const FOLDER = new URL('../../lua/', import.meta.url);
const GENERATED = new URL('generated/positions.lua', FOLDER);

test('the generated positions equal those of TypeScript', () => {
  if (process.env['UPDATE_GOLDEN']) writeFileSync(GENERATED, formatLuaPositions());
  expect(readFileSync(GENERATED, 'utf8')).toBe(formatLuaPositions());
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
