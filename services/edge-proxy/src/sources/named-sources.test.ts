import { expect, test } from '@jest/globals';
import { NAMED_IDS_MAX, type StoredIdReference } from '../stored-ids/answer-names.js';
import { allowSources, listIdsToLookUp, formatNotFound } from './named-sources.js';

const named = (id: string, more: Partial<StoredIdReference> = {}): StoredIdReference => ({
  kind: 'response',
  id,
  isUnusable: false,
  param: 'previous_response_id',
  ...more,
});

const CHECKS = { id: 'a' };
const ALSO_CHECKS = { id: 'b', keepsState: true };
const FORWARDS = { id: 'f', foreignIds: 'forward' as const };
const KEEPS_NOTHING = { id: 'n', keepsState: false };
const GOT = new Map([
  ['of-a', 'a'],
  ['of-b', 'b'],
  ['of-f', 'f'],
  ['of-gone', 'gone'],
]);

test.each<[string, Parameters<typeof allowSources>[0], string[], string[] | null]>([
  ['refuses a foreign ID', [CHECKS, ALSO_CHECKS], ['of-a', 'foreign'], null],
  ['sends a foreign ID only to sources that do not check', [CHECKS, FORWARDS, KEEPS_NOTHING], ['foreign'], ['f', 'n']],
  ['sends an ID to the source that returned it', [CHECKS, ALSO_CHECKS, FORWARDS], ['of-b'], ['b']],
  ['sends an ID of a source that forwards to it', [CHECKS, FORWARDS], ['of-f'], ['f']],
  ['sends IDs of two sources to both', [CHECKS, ALSO_CHECKS, FORWARDS], ['of-a', 'of-b'], ['a', 'b']],
  ['sends an ID of a removed source to all', [CHECKS, FORWARDS], ['of-gone'], ['a', 'f']],
])('allowSources() %s', (_name, sources, ids, expected) => {
  const result = allowSources(
    sources,
    ids.map((id) => named(id)),
    GOT,
  );
  expect(result.kind === 'allowed' ? [...result.ids] : null).toEqual(expected);
});

test('allowSources() treats conversations and unusable IDs as foreign', () => {
  const all = [named('of-a'), named('of-b', { kind: 'conversation' }), named('of-f')];
  expect(listIdsToLookUp(all)).toEqual(['of-a']);
  expect(allowSources([CHECKS], all, GOT)).toMatchObject({ foreign: { kind: 'conversation' } });
  expect(allowSources([CHECKS], [named('of-a', { isUnusable: true })], GOT)).toMatchObject({ kind: 'refused' });
});

test('allowSources() refuses more IDs than the bound without naming one', () => {
  const many = Array.from({ length: NAMED_IDS_MAX + 1 }, () => named('of-a'));
  expect(allowSources([CHECKS], many, GOT)).toEqual({ kind: 'refused', foreign: null });
});

test('notFoundText() has the words that clients search for', () => {
  expect(formatNotFound(named('resp_1'))).toBe("Previous response with id 'resp_1' not found.");
});
