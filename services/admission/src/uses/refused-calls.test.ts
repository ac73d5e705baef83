import { expect, test } from '@jest/globals';
import { REFUSED_IDS_MAX, REFUSED_ROWS_MAX, callsRefused } from '@gateway/contracts/messages';
import type { RefusalCode } from '@gateway/contracts/errors';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { FrozenClock } from '../../test/model/frozen-limit-store.js';
import type { RefusalCount } from '../ports.js';
import { RefusedCalls } from './refused-calls.js';

const MINUTE = 1_800_000_000_000;
const keys = findBucketKeys(0);

function calls() {
  const told: { minute: number; rows: readonly RefusalCount[] }[] = [];
  const line = { away: false };
  const clock = new FrozenClock(MINUTE);
  const listeners = {
    keysUsed: () => true,
    callsRefused(minute: number, rows: readonly RefusalCount[]) {
      if (!line.away) told.push({ minute, rows });
      return !line.away;
    },
  };
  const noted = new RefusedCalls({ listeners, clock });
  const refuse = (account: string, code: RefusalCode, id = makeUuidV7(MINUTE)) => {
    noted.note({ account, key: `${account}.key`, keys }, { kind: 'refused', id, code, facts: {} });
    return id;
  };
  return { told, line, clock, noted, refuse };
}

test('refused calls are reported once per minute, account, key and code', () => {
  const { told, clock, noted, refuse } = calls();
  const ids = Array.from({ length: REFUSED_IDS_MAX + 2 }, () => refuse('a', 'window_exhausted'));
  const suspended = refuse('a', 'account_suspended');
  const inactive = refuse('a', 'key_inactive');
  noted.note({ account: 'a', key: 'a.key', keys }, { kind: 'gone', id: makeUuidV7(MINUTE) });
  clock.set(MINUTE + 59_999);
  const last = refuse('a', 'window_exhausted');
  clock.set(MINUTE + 60_000);
  const next = refuse('b', 'rate_limited');
  noted.publish();
  noted.publish();
  const row = { account: 'a', key: 'a.key', count: 1 };
  const lastIds = [...ids, last].slice(-REFUSED_IDS_MAX);
  expect(told).toEqual([
    {
      minute: MINUTE,
      rows: [
        { ...row, code: 'window_exhausted', count: REFUSED_IDS_MAX + 3, lastIds },
        { ...row, code: 'account_suspended', lastIds: [suspended] },
        { ...row, code: 'key_inactive', lastIds: [inactive] },
      ],
    },
    {
      minute: MINUTE + 60_000,
      rows: [{ account: 'b', key: 'b.key', code: 'rate_limited', count: 1, lastIds: [next] }],
    },
  ]);
});

test('no message exceeds the limit of its contract', () => {
  const { told, noted, refuse } = calls();
  for (let account = 0; account < 2 * REFUSED_ROWS_MAX + 1; account += 1) refuse(`a${account}`, 'insufficient_credits');
  noted.stop();
  expect(told.map(({ rows }) => rows.length)).toEqual([REFUSED_ROWS_MAX, REFUSED_ROWS_MAX, 1]);
  for (const { minute, rows } of told) {
    expect(callsRefused.body.safeParse({ from: 'one', minute, rows }).success).toBe(true);
  }
});

test('unsent refusals are reported later together with new ones', () => {
  const { told, line, noted, refuse } = calls();
  const first = refuse('a', 'concurrency_limit');
  line.away = true;
  noted.publish();
  const second = refuse('a', 'concurrency_limit');
  refuse('b', 'concurrency_limit');
  line.away = false;
  noted.publish();
  expect(told.flatMap(({ rows }) => rows)).toMatchObject([
    { account: 'a', count: 2, lastIds: [first, second] },
    { account: 'b' },
  ]);
});

test('rows above the limit are not reported, and waiting rows are counted up', () => {
  const { told, noted, refuse } = calls();
  for (let account = 0; account < 10_001; account += 1) refuse(`a${account}`, 'model_not_found');
  refuse('a0', 'model_not_found');
  noted.publish();
  const rows = told.flatMap((some) => some.rows);
  expect(rows).toHaveLength(10_000);
  expect(rows[0]).toMatchObject({ account: 'a0', count: 2 });
  refuse('a10000', 'model_not_found');
  noted.publish();
  expect(told.at(-1)?.rows).toMatchObject([{ account: 'a10000', count: 1 }]);
});
