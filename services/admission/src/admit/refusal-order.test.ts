import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REFUSAL_ROWS } from '@gateway/contracts/errors';
import type { AccountTerms, CatalogModel, CatalogSource, KeyRecord } from '@gateway/contracts/messages';
import { monthlyWindowRow, allotmentRow } from '@gateway/metering';
import { buildCatalogView } from '../domain/catalog-view.js';
import { NO_PLAN, PRICE, admit, admitEntry, makeAccount, makeWorld, model, source } from '../../test/world.js';
import type { Replica, World } from '../../test/world.js';

/** Everything that a call is decided on; the base breaks no rule and is plan-funded. */
interface Scenario {
  wallet: number;
  plan: 'with model' | 'without model' | 'none';
  requestsPerMinute: number;
  concurrency: number;
  windowLeft: number;
  allotmentLeft: number;
  memberCap: number | null;
  key: Partial<KeyRecord>;
  rotated: boolean;
  bodyRefusal: 7 | 8 | null;
  model: Partial<CatalogModel>;
  source: Partial<CatalogSource>;
}

const BASE: Scenario = {
  wallet: 100 * PRICE,
  plan: 'with model',
  requestsPerMinute: 10,
  concurrency: 10,
  windowLeft: 100 * PRICE,
  allotmentLeft: 100,
  memberCap: null,
  key: {},
  rotated: false,
  bodyRefusal: null,
  model: {},
  source: {},
};

/** How each row is broken. */
const BREAK: Record<number, (scenario: Scenario) => void> = {
  4: (scenario) => (scenario.rotated = true),
  5: (scenario) => (scenario.key.state = 'revoked'),
  6: (scenario) => (scenario.requestsPerMinute = 0),
  7: (scenario) => (scenario.bodyRefusal = 7),
  8: (scenario) => (scenario.bodyRefusal = 8),
  9: (scenario) => (scenario.model.active = false),
  10: (scenario) => (scenario.key.allowedModels = ['acme/other']),
  11: (scenario) => (scenario.source.endpoints = ['/v1/embeddings']),
  12: (scenario) => (scenario.model.available = false),
  13: (scenario) => (scenario.model.prices = []),
  14: (scenario) => (scenario.source.enabled = false),
  15: (scenario) => (scenario.wallet = -1),
  16: (scenario) => {
    scenario.plan = 'none';
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  17: (scenario) => {
    if (scenario.plan === 'with model') scenario.plan = 'without model';
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  18: (scenario) => (scenario.concurrency = 0),
  19: (scenario) => (scenario.windowLeft = 0),
  20: (scenario) => (scenario.allotmentLeft = 0),
  21: (scenario) => {
    scenario.windowLeft = Math.min(scenario.windowLeft, 1);
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  22: (scenario) => (scenario.memberCap = PRICE - 1),
  23: (scenario) => (scenario.key.capNanoUsd = PRICE - 1),
};

/** Rules of which only one can break: one finding per body; windows and allotments bind plan-funded calls only. */
const EXCLUSIVE = new Set(['7 8', '16 19', '16 20', '17 19', '17 20']);

const ROWS = REFUSAL_ROWS.map(({ row }) => row).filter((row) => row >= 4);
const PAIRS = ROWS.flatMap((low) => ROWS.filter((high) => high > low).map((high) => [low, high] as const)).filter(
  ([low, high]) => !EXCLUSIVE.has(`${low} ${high}`),
);

let world: World;
let replica: Replica;
let models = 0;

beforeAll(async () => {
  world = await makeWorld();
  replica = await world.replica();
});
afterAll(() => world.stop());

test('the table of the contracts is the one that is broken here', () => {
  expect(Object.keys(BREAK).map(Number)).toEqual(ROWS);
});

test('the base is admitted, paid by the plan', async () => {
  expect(await rowOf(BASE)).toBe(0);
});

test.each(ROWS)('row %i alone', async (row) => {
  expect(await rowOf(broken(row))).toBe(row);
});

test.each(PAIRS)('rows %i and %i: the lower one answers', async (low, high) => {
  expect(await rowOf(broken(high, low))).toBe(low);
});

function broken(...rows: number[]): Scenario {
  const scenario: Scenario = { ...BASE, key: {}, model: {}, source: {} };
  for (const row of rows) BREAK[row]?.(scenario);
  return scenario;
}

/** The refusing row, 0 when the call is admitted. */
async function rowOf(scenario: Scenario): Promise<number> {
  models += 1;
  const id = `acme/order-${models}`;
  const now = replica.clock.now();
  const subscription = { id: `sub-${models}`, start: now - 1_000, end: now + 1_000_000 };
  const terms = termsOf(scenario, id, subscription);
  const account = makeAccount(world, {
    wallet: scenario.wallet,
    terms,
    key: scenario.key,
    ...(scenario.memberCap !== null && { memberCap: scenario.memberCap }),
  });
  account.state.rows.set(monthlyWindowRow('usd', subscription.id), {
    value: 1_000 * PRICE - scenario.windowLeft,
    version: 1,
  });
  account.state.rows.set(allotmentRow('requests', id, subscription.id), {
    value: 1_000 - scenario.allotmentLeft,
    version: 1,
  });
  world.catalog = buildCatalogView([model(id, scenario.model)], [source(id, scenario.source)]);
  const bounds =
    scenario.bodyRefusal === null
      ? { bounds: { promptBytes: 30, arrayElements: 0, attachments: 0, outputTokensMax: 10 } }
      : { bounds: null };
  if (scenario.rotated) {
    // The route is known from before; the key's record has another digest.
    await admit(replica, admitEntry(replica.clock, [account.digest], { bodyRefusal: 8 }));
    await replica.admission.apply({ keys: [account.changeKey({ digest: 'a'.repeat(64) })] });
  }
  const answer = await admit(
    replica,
    admitEntry(replica.clock, [account.digest], { model: id, bodyRefusal: scenario.bodyRefusal, ...bounds }),
  );
  if (answer.kind === 'admitted') {
    expect(answer.hold?.planMaxNanoUsd).toBeGreaterThan(0);
    return 0;
  }
  if (answer.kind !== 'refused') throw new Error(JSON.stringify(answer));
  return answer.row;
}

function termsOf(
  scenario: Scenario,
  id: string,
  subscription: NonNullable<AccountTerms['subscription']>,
): AccountTerms {
  const { requestsPerMinute, concurrency } = scenario;
  if (scenario.plan === 'none') return { ...NO_PLAN, requestsPerMinute, concurrency };
  return {
    plan: { id: 'plan1', name: 'Plan', tier: 'basic' },
    requestsPerMinute,
    concurrency,
    models: scenario.plan === 'with model' ? [id] : ['acme/another'],
    windows: [{ type: 'monthly', unit: 'usd', limit: 1_000 * PRICE, label: 'Monthly' }],
    allotments: [{ model: id, unit: 'requests', limit: 1_000 }],
    subscription,
  };
}
