import { expect, test } from '@jest/globals';
import { formatChainText } from './chain-rules.js';

const TRANSACTION = {
  id: '01a1f8d3-ea00-7eb5-a761-3b07cd7aed27',
  kind: 'usage' as const,
  requestId: '01a1f8d3-ea00-7eb5-a761-3b07cd7aed27',
  corrects: null,
  postedAtUs: 1_795_176_000_123_456n,
};

test('chainText() returns the committed canonical text', () => {
  const entries = [
    { ledgerAccount: 'wallet:a', amountNanoUsd: -9_000_000_000_000_000n },
    { ledgerAccount: 'revenue:wallet', amountNanoUsd: 9_000_000_000_000_000n },
  ];
  expect(formatChainText({ ...TRANSACTION, account: 'a', entries }, TRANSACTION.postedAtUs)).toBe(
    '[1,"01a1f8d3-ea00-7eb5-a761-3b07cd7aed27","usage","a","01a1f8d3-ea00-7eb5-a761-3b07cd7aed27",null,' +
      '"1795176000123456",[["wallet:a","-9000000000000000"],["revenue:wallet","9000000000000000"]]]',
  );
});

test.each(['a"b', 'a\\b', 'a\nb', 'ä', '\u2028', '\ud800', 'a'.repeat(128), ' !#[]~'])(
  'chainText() escapes the account %j like JSON',
  (account) => {
    const { id, kind, requestId, corrects, postedAtUs } = TRANSACTION;
    const entries = [{ ledgerAccount: `wallet:${account}`, amountNanoUsd: 1n }];
    expect(formatChainText({ ...TRANSACTION, account, entries }, TRANSACTION.postedAtUs)).toBe(
      JSON.stringify([1, id, kind, account, requestId, corrects, String(postedAtUs), [[`wallet:${account}`, '1']]]),
    );
  },
);
