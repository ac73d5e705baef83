import { expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  billingExportUsageRecords,
  billingUsageRecord,
  DIRECT_COLUMNS,
  DIRECT_EXAMPLES,
  toPriceFigures,
  usageEvents,
  type PricedVersion,
  type ServedClassUnits,
  type UsageEvent,
  type WireTokenUsage,
} from '@gateway/contracts/messages';
import { combineSamplings, rate } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { runAudit } from '../../test/audit.js';
import { toExpiredEvent, createHold, PLAIN_PRICE, createSettledEvent, tokens } from '../../test/events.js';
import { OperatorWorld } from '../../test/operator-world.js';
import { readCsv } from '../../test/read-csv.js';
import { createRecordStore } from './store.js';

const world = duringTests(OperatorWorld.start);

const { figures } = PLAIN_PRICE;
/**
 * Priority costs three times as much. A search costs 10 nano-USD. An audio input token costs five
 * times as much as a text token: 15 for priority.
 */
const PRICE: PricedVersion = {
  version: PLAIN_PRICE.version,
  figures: {
    ...figures,
    extras: {
      classes: { priority: { ...figures, inputPerMillion: 3_000_000, outputPerMillion: 3_000_000 } },
      units: { web_search: 10 },
      kinds: { audioInput: 5_000_000, audioOutput: null, imageInput: null, imageOutput: null },
    },
  },
};
const KINDS = { audioInput: 20, imageInput: 0, audioOutput: 0, imageOutput: 0 };
const PRIORITY: ServedClassUnits = { class: 'priority', units: { web_search: 2 } };
/** 80 text tokens and 20 audio tokens of the class, and two searches. */
const COST = 80 * 3 + 20 * 15 + 2 * 10;

function eventOf(account: string, changes: object = {}, usage: WireTokenUsage = tokens(100)): UsageEvent {
  const event = createSettledEvent(createHold(account), 100);
  const attempts = event.attempts.map((attempt) => ({ ...attempt, usage, served: PRIORITY, cost: PRICE }));
  return { ...event, usage, price: PRICE, attempts, served: PRIORITY, ...changes };
}

async function buildRecord(event: UsageEvent) {
  await world.edge.store(usageEvents, { group: 0 }, { events: [event] });
  const ask = () => world.dashboard.request(billingUsageRecord, { requestId: event.id });
  await until('it is settled', async () => {
    const answer = await ask();
    return 'record' in answer && answer.record.outcome === event.outcome;
  });
  return expectAccepted(await ask()).record;
}

test('class, units and token kinds are rated again, stored and shown', async () => {
  const event = eventOf('extras', { amountNanoUsd: COST }, { ...tokens(100), kinds: KINDS });
  expect(rate(event.usage as WireTokenUsage, toPriceFigures(PRICE), PRIORITY)).toBe(BigInt(COST));
  expect(await buildRecord(event)).toMatchObject({
    chargedUsd: '0.00000056',
    costUsd: '0.00000056',
    class: 'priority',
    units: { web_search: 2 },
    kinds: KINDS,
  });
  expect(await runAudit(world.billing.ledger.pool)).toEqual([]);
});

test('units without a class are rated again, stored and exported', async () => {
  const served: ServedClassUnits = { class: 'standard', units: { web_search: 3 } };
  const event = eventOf('units', { amountNanoUsd: 130, served });
  expect(await buildRecord(event)).toMatchObject({
    chargedUsd: '0.00000013',
    class: 'standard',
    units: { web_search: 3 },
  });
  const query = { account: 'units', from: null, to: null, after: null, format: 'csv' as const };
  const { text } = expectAccepted(await world.dashboard.request(billingExportUsageRecords, query));
  expect(text.split('\r\n')[1]).toMatch(/,standard,"\{""web_search"":3\}",,,,,0,/);
});

const TIER = { ...figures, aboveInputTokens: 100, inputPerMillion: 4_000_000, outputPerMillion: 4_000_000 };
const TIERED: PricedVersion = { version: PLAIN_PRICE.version, figures: { ...figures, tiers: [TIER] } };

test('samplings are rated one by one, stored and shown with unpriced names', async () => {
  const first = { ...tokens(100, 10), cachedInput: 5, cacheWrite: 2, cacheWrite1h: 3 };
  const second = { ...tokens(101, 1), kinds: KINDS };
  const usage = combineSamplings([first, second]);
  const amount = 100 + 10 + (101 + 1) * 4;
  const base = createSettledEvent(createHold('samplings'), amount, {
    usage,
    price: TIERED,
    unpriced: ['ultrafast', 'audioInput'],
  });
  const event = { ...base, attempts: base.attempts.map((attempt) => ({ ...attempt, usage, cost: TIERED })) };
  const record = await buildRecord(event);
  const shown = { input: 201, cachedInput: 5, cacheWrite: 2, cacheWrite1h: 3, output: 11 };
  expect(record).toMatchObject({
    chargedUsd: '0.000000518',
    costUsd: '0.000000518',
    tokens: shown,
    kinds: KINDS,
    samplings: [
      { ...first, kinds: null },
      { ...tokens(101, 1), kinds: KINDS },
    ],
    unpriced: ['ultrafast', 'audioInput'],
  });
  const query = { account: 'samplings', from: null, to: null, after: null, format: 'jsonl' as const };
  const { text } = expectAccepted(await world.dashboard.request(billingExportUsageRecords, query));
  expect(JSON.parse(text)).toMatchObject({ samplings: record.samplings, unpriced: record.unpriced });
  expect(await runAudit(world.billing.ledger.pool)).toEqual([]);
});

test('every column has the value of the event in the ledger, the view and the export', async () => {
  const served: ServedClassUnits = { class: 'priority', units: { web_search: 1 } };
  const usage = combineSamplings([
    { ...tokens(50, 10), cacheWrite1h: 3 },
    { ...tokens(60, 1), kinds: KINDS },
  ]);
  const amountNanoUsd = Number(rate(usage, toPriceFigures(PRICE), served));
  const event = eventOf('columns', { ...DIRECT_EXAMPLES, amountNanoUsd, served }, usage);
  const view = await buildRecord(event);
  const found = await createRecordStore(world.billing.ledger.pool).record(event.id);
  expect(found?.record).toEqual(expect.objectContaining(DIRECT_EXAMPLES));
  const query = { account: 'columns', from: null, to: null, after: null, format: 'csv' as const };
  const { text } = expectAccepted(await world.dashboard.request(billingExportUsageRecords, query));
  const [row = {}] = readCsv(text);
  expect(Object.entries(row).filter(([, cell]) => cell === null)).toEqual([]);
  for (const { name, isOptionalInView } of DIRECT_COLUMNS) {
    if (isOptionalInView === undefined) continue;
    const value: unknown = DIRECT_EXAMPLES[name];
    expect(view).toHaveProperty(name, value);
    if (name in row) expect(row[name]).toBe(typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
});

test('an event without extras settles as standard class', async () => {
  const event = createSettledEvent(createHold('plain'), 70);
  expect(await buildRecord(event)).toMatchObject({
    chargedUsd: '0.00000007',
    costUsd: '0.00000007',
    class: 'standard',
    units: {},
    kinds: null,
  });
});

test('an expired record is corrected by one with a class', async () => {
  const event = eventOf('late', { amountNanoUsd: COST, id: makeUuidV7(Date.now()) }, { ...tokens(100), kinds: KINDS });
  await buildRecord(toExpiredEvent(event));
  expect(await buildRecord(event)).toMatchObject({ outcome: 'settled', chargedUsd: '0.00000056', class: 'priority' });
  expect(await runAudit(world.billing.ledger.pool)).toEqual([]);
});

test('an amount that ignores the class becomes a dead letter', async () => {
  const event = eventOf('wrong', { amountNanoUsd: 100 });
  await world.edge.store(usageEvents, { group: 0 }, { events: [event] });
  await buildRecord(createSettledEvent(createHold('wrong'), 1));
  expect(await world.dashboard.request(billingUsageRecord, { requestId: event.id })).toMatchObject({
    refused: { code: 'not_found' },
  });
});
