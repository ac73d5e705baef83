import { expect, test } from '@jest/globals';
import { billingBalanceSnapshots } from '@gateway/contracts/messages';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { testEpoch } from '@gateway/testkit/random';
import type { Balance } from '../../ledger/rules.js';
import { buildSnapshotMessages } from './snapshot-rules.js';

const BUS_BYTES_MAX = 1_000_000;

function readBalanceRows(
  ...rows: readonly (readonly [account: string, name: string])[]
): Map<string, Map<string, Balance>> {
  const all = new Map<string, Map<string, Balance>>();
  for (const [account, name] of rows) {
    const ofAccount = all.get(account) ?? new Map<string, Balance>();
    all.set(account, ofAccount.set(name, { account, name, value: -7n, version: 3n }));
  }
  return all;
}

// Covers r8
test('a message contains an ID with all balances that it touched and that exist', () => {
  const [one, two] = [makeUuidV7(1), makeUuidV7(2)];
  const rows = readBalanceRows(['a', 'wallet'], ['a', 'km:k:2026-11']);
  const closed = [
    { account: 'a', id: one, rows: ['wallet'] },
    { account: 'a', id: two, rows: ['wallet', 'km:k:2026-11', 'never'] },
  ];
  expect(buildSnapshotMessages(closed, rows)).toEqual([
    [
      {
        account: 'a',
        rows: [
          { name: 'wallet', value: -7, version: 3 },
          { name: 'km:k:2026-11', value: -7, version: 3 },
        ],
        closed: [one, two],
      },
    ],
  ]);
});

test('snapshotMessages() returns nothing when no ID is closed', () => {
  expect(buildSnapshotMessages([], new Map())).toEqual([]);
});

test.each([
  ['one account with many calls and balances', 1, 3_000],
  ['many accounts', 3_000, 1],
])('%s: every message is within the limits, and each ID has its balances', (_what, accounts, calls) => {
  const names = Array.from({ length: 7 }, (_, index) => `${'n'.repeat(200)}${index}`);
  const closed = Array.from({ length: accounts }, (_, account) =>
    Array.from({ length: calls }, (__, call) => ({
      account: `a${account}`,
      id: makeUuidV7(call),
      rows: names.map((name) => `${name}-${call % 500}`),
    })),
  ).flat();
  const rows = readBalanceRows(...closed.flatMap(({ account, rows }) => rows.map((name) => [account, name] as const)));
  const messages = buildSnapshotMessages(closed, rows);
  const seen = new Set<string>();
  for (const accountsOf of messages) {
    const body = { ledgerEpoch: testEpoch(1), accounts: accountsOf };
    expect(billingBalanceSnapshots.body.safeParse(body).success).toBe(true);
    expect(JSON.stringify(body).length).toBeLessThan(BUS_BYTES_MAX);
    for (const { account, rows, closed: ids } of accountsOf) {
      const published = new Set(rows.map(({ name }) => name));
      for (const id of ids) {
        const wanted = byId(closed).get(id);
        expect(wanted?.account).toBe(account);
        if (wanted === undefined || !wanted.rows.every((name) => published.has(name)))
          throw new Error(`rows of ${id} are missing`);
        seen.add(id);
      }
    }
  }
  expect(seen.size).toBe(closed.length);
});

let index: Map<string, { account: string; rows: string[] }> | null = null;
let indexed: unknown = null;
function byId(
  closed: readonly { account: string; id: string; rows: string[] }[],
): Map<string, { account: string; rows: string[] }> {
  if (indexed !== closed || index === null) {
    index = new Map(closed.map((one) => [one.id, one]));
    indexed = closed;
  }
  return index;
}
