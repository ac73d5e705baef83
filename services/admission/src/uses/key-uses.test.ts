import { ManualClock } from '@gateway/testkit/clocks';
import { expect, test } from '@jest/globals';
import { KEY_USES_MAX, keysUsed } from '@gateway/contracts/messages';
import { RedisClock } from '../limit-store/redis-clock.js';
import { KeyUses } from './key-uses.js';

function uses() {
  const told: { key: string; at: number }[][] = [];
  const line = { away: false };
  const listeners = {
    keysUsed(some: readonly { key: string; at: number }[]) {
      if (!line.away) told.push([...some]);
      return !line.away;
    },
    callsRefused: () => true,
  };
  const clock = new ManualClock();
  return { told, line, clock, noted: new KeyUses({ listeners, clock: new RedisClock(0, clock) }) };
}

test('the last use of each key is reported once', () => {
  const { noted, told } = uses();
  noted.note('key1', 5);
  noted.note('key2', 6);
  noted.note('key1', 7);
  noted.publish();
  noted.publish();
  expect(told).toEqual([
    [
      { key: 'key1', at: 7 },
      { key: 'key2', at: 6 },
    ],
  ]);
});

test('no message exceeds the limit of its contract', () => {
  const { noted, told } = uses();
  for (let key = 0; key < 2 * KEY_USES_MAX + 1; key += 1) noted.note(`key${key}`, key);
  noted.stop();
  expect(told.map((some) => some.length)).toEqual([KEY_USES_MAX, KEY_USES_MAX, 1]);
  for (const some of told) expect(keysUsed.body.safeParse({ uses: some }).success).toBe(true);
});

test('unsent uses are reported later together with new ones', () => {
  const { noted, told, line } = uses();
  noted.note('key1', 1);
  noted.note('key2', 2);
  line.away = true;
  noted.publish();
  noted.note('key1', 3);
  line.away = false;
  noted.publish();
  expect(told.flat()).toEqual([
    { key: 'key1', at: 3 },
    { key: 'key2', at: 2 },
  ]);
});

test('keys above the limit wait for their next use', () => {
  const { noted, told } = uses();
  for (let key = 0; key < 100_001; key += 1) noted.note(`key${key}`, 1);
  noted.note('key0', 2);
  noted.publish();
  expect(told.flat()).toHaveLength(100_000);
  expect(told.flat()[0]).toEqual({ key: 'key0', at: 2 });
  noted.note('key100000', 3);
  noted.publish();
  expect(told.at(-1)).toEqual([{ key: 'key100000', at: 3 }]);
});

test('uses are reported every 30 seconds from start() to stop()', async () => {
  const { noted, told, clock } = uses();
  noted.start();
  noted.note('key1', 1);
  await clock.advance(29_999);
  expect(told).toEqual([]);
  await clock.advance(1);
  expect(told).toHaveLength(1);
  noted.stop();
  expect(clock.pending).toBe(0);
});
