import { expect, test } from '@jest/globals';
import { sourceEntry } from '../../../test/edge-world.js';
import { NAMED_IDS_MAX, type StoredIdReference } from '../../stored-ids/answer-names.js';
import type { DecryptedSource } from '../../ports.js';
import { selectSourcesByIds } from './select-sources.js';

const opened = (id: string, more: Parameters<typeof sourceEntry>[2] = {}): DecryptedSource => {
  const source = sourceEntry(id, 'https://provider.example', { sealedCredential: null, ...more });
  return { source, origin: 'https://provider.example', basePath: '', headers: [], authorizer: null };
};
const CHECKS = opened('a');
const FORWARDS = opened('f', { foreignIds: 'forward' });
const KEEPS_NOTHING = opened('n', { keepsState: false });

function namesOf(count: number): StoredIdReference[] {
  return Array.from({ length: count }, (_, at) => ({
    kind: 'item',
    id: `msg_${at}`,
    isUnusable: false,
    param: 'input',
  }));
}

/** Selects sources while the store is unavailable. */
async function unreadable(known: readonly DecryptedSource[], count = 1) {
  let asked = 0;
  const answers = { sourcesOf: async () => ((asked += 1), null), remember: async () => undefined, idsStored: 0 };
  const call = { account: 'acc', parsed: { answers: { named: namesOf(count), isStored: true } } };
  return { result: await selectSourcesByIds({ answers }, call, known), asked };
}

test.each([
  ['checks IDs', [CHECKS]],
  ['checks IDs, next to one that does not', [CHECKS, FORWARDS]],
])('a source that %s causes a 500 while the store is unavailable', async (_what, known) => {
  const { result } = await unreadable(known);
  expect(result).toMatchObject({ code: 'lookup_failed', status: 500 });
});

test.each([
  ['one that forwards IDs', [FORWARDS], 0],
  ['several that store nothing', [KEEPS_NOTHING, opened('m', { keepsState: false })], 0],
  ['several that forward IDs', [FORWARDS, opened('g', { foreignIds: 'forward' })], 1],
])('sources that do not check IDs are allowed: %s', async (_what, known, looks) => {
  expect(await unreadable(known)).toEqual({ result: known, asked: looks });
});

test('too many IDs are refused without a lookup', async () => {
  const { result, asked } = await unreadable([CHECKS], NAMED_IDS_MAX + 1);
  expect([result, asked]).toMatchObject([{ code: 'invalid_request', param: 'input' }, 0]);
});
