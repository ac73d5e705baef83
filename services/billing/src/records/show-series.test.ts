import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  billingRefusedCall,
  billingRefusedCalls,
  billingUsageRecords,
  billingUsageSeries,
  callsRefused,
  REFUSED_KEPT_MS,
  SERIES_GROUPS_MAX,
  usageEvents,
  type BodyOf,
  type UsageEvent,
} from '@gateway/contracts/messages';
import { monthOf } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { runAudit } from '../../test/audit.js';
import { toExpiredEvent, createHold, createPlanHold, createSettledEvent, toVoidedEvent } from '../../test/events.js';
import { HOUR, OperatorWorld } from '../../test/operator-world.js';
import type { RankedRow } from './hours-store.js';
import { createRefusedStore } from './refused-store.js';
import { fitRows } from './show-series.js';

const DAY = 24 * HOUR;
/** Two days ago, so that no call is outside the kept months. */
const DAY_START = Math.floor((Date.now() - 2 * DAY) / DAY) * DAY;

const world = duringTests(OperatorWorld.start);

async function settle(...events: UsageEvent[]): Promise<void> {
  for (const event of events) await world.edge.store(usageEvents, { group: 0 }, { events: [event] });
  const account = events[0]?.hold.account ?? '';
  await until(
    'the calls are settled',
    async () => (await recordsOf(account)).length === new Set(events.map((e) => e.id)).size,
  );
}

async function recordsOf(account: string, filters: Partial<BodyOf<typeof billingUsageRecords>> = {}) {
  const query = { account, from: null, to: null, cursor: null, limit: 100, ...filters };
  return expectAccepted(await world.dashboard.request(billingUsageRecords, query)).records;
}

/** Creates a call at an hour of the day; a token costs one nano-USD. */
function callAt(hour: number, account: string, amount: number, changes: object = {}): UsageEvent {
  const hold = createHold(account, {
    periods: { ...createHold(account).periods, month: monthOf(DAY_START) },
    ...changes,
  });
  return createSettledEvent(hold, amount, { id: makeUuidV7(DAY_START + hour * HOUR + 1) });
}

async function series(account: string, changes: Partial<BodyOf<typeof billingUsageSeries>> = {}) {
  return (await wholeSeries(account, changes)).rows;
}

async function wholeSeries(account: string, changes: Partial<BodyOf<typeof billingUsageSeries>> = {}) {
  const query = { account, from: DAY_START, to: DAY_START + 2 * DAY, by: 'day' as const, groupBy: 'none' as const };
  return expectAccepted(await world.dashboard.request(billingUsageSeries, { ...query, ...changes }));
}

describe('usage over time', () => {
  const account = 'series';

  beforeAll(async () => {
    const usage = { input: 70, cachedInput: 40, cacheWrite: 5, cacheWrite1h: 6, output: 30 };
    const cached = { ...callAt(1, account, 100, { key: 'k2', model: 'acme/two' }), usage };
    const late = callAt(3, account, 900, { key: 'k2', member: 'm2' });
    const repeated = callAt(1, account, 30);
    const planned = createSettledEvent(createPlanHold(account, 50, 100), 80, { id: makeUuidV7(DAY_START + 26 * HOUR) });
    const failed = toVoidedEvent(callAt(2, account, 0));
    await settle(repeated, cached, toExpiredEvent(late), failed, planned, repeated, late);
    await settle(callAt(1, 'another', 5_000));
  });

  test('by day counts each settled call once, on the day of its admission', async () => {
    const rows = await series(account);
    expect(rows).toEqual([
      {
        start: DAY_START,
        group: null,
        calls: 3,
        inputTokens: 1_000,
        outputTokens: 30,
        cachedInputTokens: 40,
        cacheWriteTokens: 5,
        cacheWrite1hTokens: 6,
        chargedNanoUsd: 1_030,
        planNanoUsd: 0,
        walletNanoUsd: 1_030,
      },
      {
        start: DAY_START + DAY,
        group: null,
        calls: 1,
        inputTokens: 80,
        outputTokens: 0,
        cachedInputTokens: 0,
        cacheWriteTokens: 0,
        cacheWrite1hTokens: 0,
        chargedNanoUsd: 80,
        planNanoUsd: 50,
        walletNanoUsd: 30,
      },
    ]);
  });

  test('by hour and group is sorted by charge; bounds are whole hours', async () => {
    const rows = await series(account, {
      by: 'hour',
      groupBy: 'model',
      from: DAY_START + HOUR + 1,
      to: DAY_START + 3 * HOUR + 1,
    });
    expect(rows.map(({ start, group, chargedNanoUsd }) => [(start - DAY_START) / HOUR, group, chargedNanoUsd])).toEqual(
      [
        [1, 'acme/two', 100],
        [1, 'acme/one', 30],
        [3, 'acme/one', 900],
      ],
    );
  });

  test('can be limited to one key, member or model', async () => {
    const charged = async (filter: object) =>
      (await series(account, filter)).map((row) => [row.group, row.chargedNanoUsd]);
    expect(await charged({ key: 'k2' })).toEqual([[null, 1_000]]);
    expect(await charged({ member: 'm2', groupBy: 'key' })).toEqual([['k2', 900]]);
    expect(await charged({ model: 'acme/two', groupBy: 'member' })).toEqual([[`member-${account}`, 100]]);
  });

  test('counts unbilled calls by outcome, within the same bounds and filters', async () => {
    const failing = 'series-unbilled';
    const lost = callAt(3, failing, 9, { key: 'k3' });
    const others = [toVoidedEvent(callAt(1, failing, 0)), toVoidedEvent(callAt(26, failing, 0)), toExpiredEvent(lost)];
    await settle(...others, callAt(1, failing, 30));
    const unbilled = async (changes: object = {}) => (await wholeSeries(failing, changes)).unbilled;
    expect(await unbilled()).toEqual({ voided: 2, expired: 1 });
    expect(await unbilled({ to: DAY_START + DAY, groupBy: 'key' })).toEqual({ voided: 1, expired: 1 });
    expect(await unbilled({ key: 'k3' })).toEqual({ voided: 0, expired: 1 });
    expect(await unbilled({ member: 'nobody' })).toEqual({ voided: 0, expired: 0 });
    await world.edge.store(usageEvents, { group: 0 }, { events: [lost] });
    await until('the lost call is settled late', async () => (await series(failing))[0]?.calls === 2);
    expect(await unbilled()).toEqual({ voided: 2, expired: 0 });
  });

  test('refuses a time that is too long or ends before it begins', async () => {
    const request = (changes: object) =>
      world.dashboard.request(billingUsageSeries, {
        account,
        from: 0,
        to: 400 * DAY,
        by: 'day' as const,
        groupBy: 'none' as const,
        ...changes,
      });
    expect(await request({})).toEqual({ rows: [], unbilled: { voided: 0, expired: 0 } });
    expect(await request({ to: 400 * DAY + 1 })).toMatchObject({ refused: { code: 'invalid_request', param: 'from' } });
    expect(await request({ by: 'hour' })).toMatchObject({ refused: { code: 'invalid_request', param: 'from' } });
    expect(await request({ to: 0 })).toMatchObject({ refused: { code: 'invalid_request', param: 'to' } });
  });

  test('has a row for each of the largest groups and one for the others', async () => {
    const keys = Array.from({ length: SERIES_GROUPS_MAX + 3 }, (_, at) => `key-${at}`);
    await settle(...keys.map((key, at) => callAt(5, 'many', 100 + at, { key })));
    const rows = await series('many', { groupBy: 'key' });
    expect(rows.map(({ group }) => group).sort()).toEqual([...keys.slice(3), 'other'].sort());
    expect(rows.find(({ group }) => group === 'other')).toMatchObject({ calls: 3, chargedNanoUsd: 303 });
  });

  test('usage records can be filtered by everything that a chart shows', async () => {
    const amounts = async (filters: object) =>
      (await recordsOf(account, filters)).map(({ chargedUsd }) => Math.round(Number(chargedUsd) * 1e9));
    expect(await amounts({ key: 'k2' })).toEqual([900, 100]);
    expect(await amounts({ member: 'm2' })).toEqual([900]);
    expect(await amounts({ model: 'acme/two', key: 'k2' })).toEqual([100]);
    expect(await amounts({ outcome: 'voided' })).toEqual([0]);
    const [one] = await recordsOf(account, { outcome: 'voided' });
    expect(await recordsOf(account, { requestId: one?.requestId ?? '' })).toEqual([one]);
    expect(await recordsOf('another', { requestId: one?.requestId ?? '' })).toEqual([]);
  });

  test('the audit finds no difference between hours and records', async () => {
    expect(await runAudit(world.billing.ledger.pool)).toEqual([]);
  });
});

test('fitRows() merges groups that do not fit into an answer, and loses nothing', () => {
  const nothing = {
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    outputTokens: 0,
    planNanoUsd: 0,
  };
  const placed: RankedRow[] = [0, HOUR].flatMap((start) =>
    ['a', 'other', 'c', null].map((group, at) => ({
      ...nothing,
      start,
      group,
      place: at + 1,
      calls: 1,
      chargedNanoUsd: 10 - at,
      walletNanoUsd: 10 - at,
    })),
  );
  const shown = (limits: object) => fitRows(placed, limits).map((row) => [row.group, row.chargedNanoUsd]);
  expect(shown({ rowsMax: 6 }).slice(0, 3)).toEqual([
    ['other', 16],
    ['a', 10],
    ['c', 8],
  ]);
  expect(shown({ rowsMax: 5 }).slice(0, 2)).toEqual([
    ['other', 24],
    ['a', 10],
  ]);
  expect(shown({ bytesMax: 600 })).toEqual([
    ['other', 34],
    ['other', 34],
  ]);
});

describe('refused calls', () => {
  const minute = Math.floor(Date.now() / 60_000) * 60_000 - 600_000;
  const ids = Array.from({ length: 8 }, (_, at) => makeUuidV7(minute + at));
  const list = async (account: string, changes: object = {}) =>
    expectAccepted(
      await world.dashboard.request(billingRefusedCalls, {
        account,
        from: minute - HOUR,
        to: minute + HOUR,
        ...changes,
      }),
    );
  const report = (at: number, ...rows: BodyOf<typeof callsRefused>['rows']) =>
    world.admission.publish(callsRefused, {}, { from: 'replica-1', minute: at, rows });

  test('are summed by account, minute, code and key, with the last IDs', async () => {
    const row = { account: 'refused', key: 'k1', code: 'rate_limit_exceeded' };
    report(
      minute,
      { ...row, count: 40, lastIds: ids.slice(0, 4) },
      { ...row, account: 'beside', count: 1, lastIds: [] },
    );
    report(minute + 1, { ...row, count: 2, lastIds: ids.slice(4, 6) });
    report(minute + 60_000, { account: 'refused', code: 'invalid_api_key', count: 3, lastIds: ids.slice(6) });
    await until(
      'all three messages arrive',
      async () => (await list('refused')).totals.reduce((sum, one) => sum + one.count, 0) === 45,
    );
    expect(await list('refused')).toEqual({
      rows: [
        { minute: minute + 60_000, code: 'invalid_api_key', key: null, count: 3, lastIds: ids.slice(6) },
        { minute, code: 'rate_limit_exceeded', key: 'k1', count: 42, lastIds: ids.slice(1, 6) },
      ],
      more: false,
      totals: [
        { code: 'rate_limit_exceeded', count: 42 },
        { code: 'invalid_api_key', count: 3 },
      ],
    });
    expect((await list('refused', { key: 'k1' })).rows.map(({ count }) => count)).toEqual([42]);
    expect((await list('refused', { to: minute + 60_000 })).rows.map(({ count }) => count)).toEqual([42]);
  });

  test('are found by an ID in the minute that contains it', async () => {
    const find = (requestId: string) => world.dashboard.request(billingRefusedCall, { requestId });
    expect(await find(ids[5] ?? '')).toMatchObject({ account: 'refused', row: { minute, count: 42, key: 'k1' } });
    expect(await find(ids[0] ?? '')).toMatchObject({ refused: { code: 'not_found' } });
    expect(
      await world.dashboard.request(billingRefusedCalls, { account: 'refused', from: 0, to: REFUSED_KEPT_MS + 1 }),
    ).toMatchObject({
      refused: { param: 'from' },
    });
  });

  test('are dropped when they are too old, and deleted after the retention time', async () => {
    const row = { account: 'refused', code: 'model_not_found', count: 1, lastIds: [] };
    report(Date.now() - REFUSED_KEPT_MS - 60_000, row);
    report(minute, row);
    await until('the later message arrives', async () => (await list('refused')).rows.length === 3);
    const { pool } = world.billing.ledger;
    const kept = async () => (await pool.query('SELECT count(*) AS n FROM refused_calls')).rows[0] as { n: bigint };
    expect(await kept()).toEqual({ n: 4n });
    await createRefusedStore(pool).deleteOld(minute + 60_000);
    expect(await kept()).toEqual({ n: 1n });
  });
});
