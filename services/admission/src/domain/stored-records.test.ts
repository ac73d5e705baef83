import { expect, test } from '@jest/globals';
import type { KeyRecord } from '@gateway/contracts/messages';
import { readStoredKey, storeKey } from './stored-records.js';

const usual: KeyRecord = {
  account: 'a',
  key: 'k',
  member: 'm',
  kind: 'api',
  digest: '00ff'.repeat(16),
  state: 'active',
  version: 7,
  expiresAt: null,
  capNanoUsd: null,
  allowedModels: null,
};
const CHANGES: readonly Partial<KeyRecord>[] = [
  {},
  { kind: 'playground' },
  { state: 'revoked' },
  { expiresAt: 1 },
  { capNanoUsd: 0 },
  { allowedModels: [] },
  { kind: 'playground', state: 'suspended', expiresAt: 5, capNanoUsd: 9, allowedModels: ['acme/fixed'] },
];

test('a record comes back as it was stored, whatever of it is usual', () => {
  for (const change of CHANGES) {
    const record = { ...usual, ...change };
    expect(readStoredKey(storeKey(record), 'a', 'k')).toEqual(record);
  }
});

test('of a usual key only what tells it apart is stored', () => {
  expect(JSON.parse(storeKey(usual))).toEqual(['m', Buffer.from(usual.digest, 'hex').toString('base64url'), 7]);
});
