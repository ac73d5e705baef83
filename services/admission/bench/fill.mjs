// Loads many accounts with the scripts and key references of a load, without a request for each.
import { bucketOfAccount } from '@gateway/contracts/ids';
import { buildApplyCall } from '../dist/apply/apply-script.js';
import { findBucketKeys, formatReferenceKey } from '../dist/limit-store/key-rules.js';
import { accountOf, digestOf, keyOf, recordsOf, snapshotOf } from './accounts.mjs';

const ACCOUNTS_AT_ONCE = 500;
const ROUTE_SECONDS = 90 * 86_400;

/** Loads the accounts with the numbers [from, until), each with the named balances. */
export async function fillLimitStore({ limitStore, side, clock }, from, until, withPlan, rowsOf = () => []) {
  const tokens = new Map();
  const epochOf = async ({ token }) => {
    if (!tokens.has(token)) tokens.set(token, (await side.get(token)).split(' ')[0]);
    return tokens.get(token);
  };
  const begun = Date.now();
  for (let at = from; at < until; at += ACCOUNTS_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(until - at, ACCOUNTS_AT_ONCE) }, (_unused, offset) => at + offset);
    const routes = side.pipeline();
    for (const number of numbers) {
      routes.set(formatReferenceKey(digestOf(number)), `${accountOf(number)}|${keyOf(number)}`, 'EX', ROUTE_SECONDS);
    }
    await routes.exec();
    for (let left = numbers; left.length > 0;) {
      const calls = await Promise.all(left.map((number) => loadOf(number)));
      const replies = await limitStore.run(calls);
      // A load that took too long, on a busy machine, writes nothing.
      left = left.filter((_number, index) => replies[index][0] !== 'applied');
    }
  }

  async function loadOf(number) {
    const { account: record, key, member } = recordsOf(number);
    const keys = findBucketKeys(bucketOfAccount(record.account));
    const update = {
      account: record.account,
      incarnation: '0192a000-1ed6-7000-8000-00000000beef',
      record,
      keyRecords: [key],
      members: [member],
      standing: snapshotOf(number, withPlan, begun, rowsOf(number)),
    };
    return buildApplyCall(keys, update, {
      token: await epochOf(keys),
      startedAt: clock.now(),
      complete: true,
      caughtUp: true,
      version: 1,
    });
  }
}
