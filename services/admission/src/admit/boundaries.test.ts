import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { refusalError } from '@gateway/contracts/errors';
import type { AccountTerms, BatchAnswer } from '@gateway/contracts/messages';
import {
  MINUTE_MS,
  SESSION_5H_MS,
  allotmentRow,
  keyMonthRow,
  memberMonthRow,
  monthlyWindowRow,
  sessionWindowRow,
  weeklyWindowRow,
} from '@gateway/metering';
import { testEpoch } from '@gateway/testkit/random';
import {
  PRICE,
  admit,
  admitEntry,
  makeAccount,
  makeWorld,
  mustAdmit,
  requestsWindow,
  usdWindow,
} from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (iso: string): number => Date.parse(iso);
const CONTEXT = {
  billingLinkUrl: 'https://b.example',
  chatBaseUrl: 'https://c.example',
  messagesBaseUrl: 'https://m.example',
};

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld({ frozenAt: at('2026-11-18T12:00:00Z') });
  one = await world.replica();
});
afterAll(() => world.stop());

/** Makes an account on a plan. Its period is the one in its terms. */
function planAccount(terms: Partial<AccountTerms>, start: number, end: number): TestAccount {
  const id = `sub-${start}-${end}`;
  return makeAccount(world, {
    wallet: 0,
    terms: { plan: { id: 'pro', name: 'Pro', tier: 'pro' }, models: null, subscription: { id, start, end }, ...terms },
  });
}

const ask = (account: TestAccount): Promise<BatchAnswer> => admit(one, admitEntry(one.clock, [account.digest]));

/** Returns the response to a client for a call at that time. */
async function told(account: TestAccount, time: number) {
  world.setTime(time);
  const answer = await ask(account);
  if (answer.kind !== 'refused') return answer.kind;
  const { code, retryAfterSeconds, message, shouldRetry } = refusalError(answer.code, answer.facts, CONTEXT);
  return { code, retryAfterSeconds, message, shouldRetry };
}

const says = (text: string): unknown => expect.stringContaining(text);

describe('the Retry-After of a full minute', () => {
  test.each([
    ['its first millisecond', 0, 60],
    ['the end of its first second', 999, 60],
    ['second 1', 1_000, 59],
    ['second 59', 59_000, 1],
    ['its last millisecond', 59_999, 1],
  ])('counts from %s to the end of the minute', async (_name, after, seconds) => {
    const start = at('2026-12-31T23:59:00Z');
    const account = makeAccount(world, { wallet: 9 * PRICE, terms: { requestsPerMinute: 1 } });
    expect(await told(account, start)).toBe('admitted');
    expect(await told(account, start + after)).toMatchObject({ code: 'rate_limited', retryAfterSeconds: seconds });
    expect(await told(account, start + MINUTE_MS)).toBe('admitted');
  });
});

test('concurrency_limit always has a Retry-After of 2 seconds', async () => {
  const account = makeAccount(world, { wallet: 9 * PRICE, terms: { concurrency: 0 } });
  for (const time of ['2026-12-31T23:59:59.999Z', '2028-02-29T00:00:00Z']) {
    expect(await told(account, at(time))).toMatchObject({ code: 'concurrency_limit', retryAfterSeconds: 2 });
  }
});

describe('windows', () => {
  test.each(['usd', 'requests'] as const)('a session in %s ends 5 h after the call that opened it', async (unit) => {
    const opened = at('2028-02-28T23:17:08.123Z');
    const account = planAccount(
      { windows: [unit === 'usd' ? usdWindow('session_5h', PRICE) : requestsWindow('session_5h', 1)] },
      opened - DAY,
      opened + 9 * DAY,
    );
    world.setTime(opened);
    const first = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    expect(first.hold.periods.session5h).toBe(opened);
    const rows = [{ name: sessionWindowRow(unit, opened), value: unit === 'usd' ? PRICE : 1, version: 2 }];
    await one.admission.applySnapshots({
      ledgerEpoch: testEpoch(1),
      accounts: [{ account: account.account, rows, closed: [first.id] }],
    });
    const refused = { code: 'window_exhausted', shouldRetry: false, message: says('Window session_5h') };
    expect(await told(account, opened + 1)).toMatchObject({ ...refused, retryAfterSeconds: 18_000 });
    expect(await told(account, opened + SESSION_5H_MS - 1_001)).toMatchObject({ ...refused, retryAfterSeconds: 2 });
    expect(await told(account, opened + SESSION_5H_MS - 1)).toMatchObject({
      ...refused,
      retryAfterSeconds: 1,
      message: says('Resets at 2028-02-29T04:17:08.123Z.'),
    });
    world.setTime(opened + SESSION_5H_MS);
    expect((await mustAdmit(one, admitEntry(one.clock, [account.digest]))).hold.periods.session5h).toBe(
      opened + SESSION_5H_MS,
    );
  });

  test.each([
    ['a Monday', '2026-11-23T00:00:00Z'],
    ['the Monday of a year end', '2029-01-01T00:00:00Z'],
    ['the Monday after a leap day', '2028-03-06T00:00:00Z'],
  ])('a week ends on %s, 00:00 UTC', async (_name, monday) => {
    const end = at(monday);
    const account = planAccount({ windows: [requestsWindow('weekly', 1)] }, end - 20 * DAY, end + 20 * DAY);
    account.state.rows.set(weeklyWindowRow('requests', end - 7 * DAY), { value: 1, version: 1 });
    const refused = { code: 'window_exhausted', message: says(`Resets at ${new Date(end).toISOString()}`) };
    expect(await told(account, end - 7 * DAY)).toMatchObject({ ...refused, retryAfterSeconds: 604_800 });
    expect(await told(account, end - 1)).toMatchObject({ ...refused, retryAfterSeconds: 1 });
    world.setTime(end);
    expect((await mustAdmit(one, admitEntry(one.clock, [account.digest]))).hold.periods.weekly).toBe(end);
    expect(await told(account, end)).toMatchObject({ code: 'window_exhausted', retryAfterSeconds: 604_800 });
  });

  test('a monthly window ends with the subscription period, not with the calendar month', async () => {
    const [start, end] = [at('2028-01-29T10:00:00Z'), at('2028-02-29T10:00:00Z')];
    const account = planAccount({ windows: [usdWindow('monthly', PRICE)] }, start, end);
    account.state.rows.set(monthlyWindowRow('usd', `sub-${start}-${end}`), { value: PRICE, version: 1 });
    const refused = { code: 'window_exhausted', message: says('Resets at 2028-02-29T10:00:00.000Z') };
    expect(await told(account, at('2028-02-01T00:00:00Z'))).toMatchObject({
      ...refused,
      retryAfterSeconds: 2_455_200,
    });
    expect(await told(account, end - 1)).toMatchObject({ ...refused, retryAfterSeconds: 1 });
    expect(await told(account, end)).toMatchObject({ code: 'no_funding', retryAfterSeconds: undefined });
  });

  test('a refusal names the used-up window that resets last', async () => {
    const monday = at('2026-12-28T00:00:00Z');
    const [start, end] = [monday - 10 * DAY, monday + HOUR];
    const opened = monday - 2 * HOUR;
    const types = ['weekly', 'monthly', 'session_5h'] as const;
    const account = planAccount({ windows: types.map((type) => requestsWindow(type, 1)) }, start, end);
    const rows = [
      sessionWindowRow('requests', opened),
      weeklyWindowRow('requests', monday - 7 * DAY),
      monthlyWindowRow('requests', `sub-${start}-${end}`),
    ];
    for (const row of rows) account.state.rows.set(row, { value: 1, version: 1 });
    const exhausted = { code: 'window_exhausted' };
    // The session resets last, then the subscription period, then the week.
    expect(await told(account, monday - 1)).toMatchObject({
      ...exhausted,
      retryAfterSeconds: 10_801,
      message: says('session_5h'),
    });
    const longer = planAccount({ windows: types.map((type) => requestsWindow(type, 1)) }, start, monday + DAY);
    for (const row of [...rows.slice(0, 2), monthlyWindowRow('requests', `sub-${start}-${monday + DAY}`)]) {
      longer.state.rows.set(row, { value: 1, version: 1 });
    }
    expect(await told(longer, monday - 1)).toMatchObject({
      ...exhausted,
      retryAfterSeconds: 86_401,
      message: says('monthly'),
    });
    expect(await told(longer, monday)).toMatchObject({
      ...exhausted,
      retryAfterSeconds: 86_400,
      message: says('monthly'),
    });
  });

  test('an unbilled session is reopened by the next call, even in its last millisecond', async () => {
    const opened = at('2026-12-31T21:30:00Z');
    const account = planAccount({ windows: [requestsWindow('session_5h', 2)] }, opened - DAY, opened + DAY);
    world.setTime(opened);
    const first = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    // The edge's heartbeats extend the call until then.
    const hold = { id: first.id, hold: first.hold, callEpoch: first.epoch, endpoint: '/v1/messages' as const };
    world.setTime(opened + SESSION_5H_MS - 2);
    await one.admission.heartbeat({
      edge: 'edge1',
      n: 1,
      chunk: 0,
      chunks: 1,
      epochs: [],
      calls: [hold],
      releases: [],
      last: false,
    });
    const second = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    expect(second.hold.periods.session5h).toBe(opened);
    await one.admission.applySnapshots({
      ledgerEpoch: testEpoch(1),
      accounts: [{ account: account.account, rows: [], closed: [first.id, second.id] }],
    });
    world.setTime(opened + SESSION_5H_MS - 1);
    const third = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    expect(third.hold.periods.session5h).toBe(opened + SESSION_5H_MS - 1);
  });
});

describe('an allotment', () => {
  test.each([
    ['a leap day', '2028-02-29T00:00:00Z', '2028-02-29'],
    ['a year end', '2027-01-01T00:00:00Z', '2027-01-01'],
    ['a day in mid-month', '2026-11-30T17:30:00.500Z', '2026-11-30'],
  ])('is renewed with the subscription period on %s and its error shows the date', async (_name, iso, date) => {
    const [start, end] = [at(iso) - 30 * DAY, at(iso)];
    const allotments = [{ model: 'acme/fixed', unit: 'requests' as const, limit: 1 }];
    const account = planAccount({ allotments }, start, end);
    account.state.rows.set(allotmentRow('requests', 'acme/fixed', `sub-${start}-${end}`), { value: 1, version: 1 });
    const refused = { code: 'model_limit_reached', shouldRetry: false, message: says(`It is renewed on ${date} (`) };
    expect(await told(account, start)).toMatchObject({ ...refused, retryAfterSeconds: 2_592_000 });
    expect(await told(account, end - 1)).toMatchObject({ ...refused, retryAfterSeconds: 1 });
  });
});

describe('caps', () => {
  test.each([
    ['February of a leap year', '2028-02', '2028-03-01T00:00:00Z'],
    ['February of another', '2027-02', '2027-03-01T00:00:00Z'],
    ['December', '2026-12', '2027-01-01T00:00:00Z'],
  ])('of key and member apply until the last millisecond of %s without Retry-After', async (_name, month, next) => {
    const end = at(next);
    const key = makeAccount(world, { wallet: 99 * PRICE, key: { capNanoUsd: PRICE } });
    key.state.rows.set(keyMonthRow(key.key, month), { value: 1, version: 1 });
    const member = makeAccount(world, { wallet: 99 * PRICE, memberCap: PRICE });
    member.state.rows.set(memberMonthRow(member.member, month), { value: 1, version: 1 });
    const message = says(`Resets at ${new Date(end).toISOString()}`);
    for (const [account, code] of [
      [key, 'monthly_spend_cap_exceeded'],
      [member, 'member_cap_reached'],
    ] as const) {
      const refused = { code, message, retryAfterSeconds: undefined };
      expect(await told(account, at(`${month}-01T00:00:00Z`))).toMatchObject(refused);
      expect(await told(account, end - 1)).toMatchObject(refused);
      expect(await told(account, end)).toBe('admitted');
      expect(await told(account, end)).toMatchObject({ code });
    }
  });
});
