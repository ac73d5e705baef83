import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REFUSAL, REFUSAL_RANKS } from '@gateway/contracts/errors';
import type { RefusalRank } from '@gateway/contracts/errors';
import type { AccountTerms, CatalogModel, CatalogSource, KeyRecord } from '@gateway/contracts/messages';
import { monthlyWindowRow, allotmentRow } from '@gateway/metering';
import { buildCatalogView } from './catalog-view-rules.js';
import type { BodyRank } from './prepare-call-rules.js';
import { NO_PLAN, PRICE, admit, admitEntry, makeAccount, makeWorld, model, source } from '../../test/world.js';
import type { Replica, World } from '../../test/world.js';

/** All inputs of a decision. The base scenario breaks no rule and is paid by the plan. */
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
  bodyRefusal: BodyRank | null;
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

/** The change that causes each refusal. */
const BREAK: Record<number, (scenario: Scenario) => void> = {
  [REFUSAL.invalid_api_key]: (scenario) => (scenario.rotated = true),
  [REFUSAL.key_inactive]: (scenario) => (scenario.key.state = 'revoked'),
  [REFUSAL.rate_limited]: (scenario) => (scenario.requestsPerMinute = 0),
  [REFUSAL.request_entity_too_large]: (scenario) => (scenario.bodyRefusal = REFUSAL.request_entity_too_large),
  [REFUSAL.invalid_request]: (scenario) => (scenario.bodyRefusal = REFUSAL.invalid_request),
  [REFUSAL.model_not_found]: (scenario) => (scenario.model.active = false),
  [REFUSAL.model_not_allowed_on_key]: (scenario) => (scenario.key.allowedModels = ['acme/other']),
  [REFUSAL.endpoint_not_supported_for_model]: (scenario) => (scenario.source.endpoints = ['/v1/embeddings']),
  [REFUSAL.model_not_available]: (scenario) => (scenario.model.available = false),
  [REFUSAL.model_not_priced]: (scenario) => (scenario.model.prices = []),
  [REFUSAL.no_upstream_available]: (scenario) => (scenario.source.enabled = false),
  [REFUSAL.outstanding_debt]: (scenario) => (scenario.wallet = -1),
  [REFUSAL.no_funding]: (scenario) => {
    scenario.plan = 'none';
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  [REFUSAL.tier_permission_denied]: (scenario) => {
    if (scenario.plan === 'with model') scenario.plan = 'without model';
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  [REFUSAL.concurrency_limit]: (scenario) => (scenario.concurrency = 0),
  [REFUSAL.window_exhausted]: (scenario) => (scenario.windowLeft = 0),
  [REFUSAL.model_limit_reached]: (scenario) => (scenario.allotmentLeft = 0),
  [REFUSAL.insufficient_credits]: (scenario) => {
    scenario.windowLeft = Math.min(scenario.windowLeft, 1);
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  [REFUSAL.member_cap_reached]: (scenario) => (scenario.memberCap = PRICE - 1),
  [REFUSAL.monthly_spend_cap_exceeded]: (scenario) => (scenario.key.capNanoUsd = PRICE - 1),
};

/**
 * Rules that cannot break together: a body has one finding, and windows and allotments apply only
 * to calls that the plan pays for.
 */
const EXCLUSIVE: readonly (readonly [RefusalRank, RefusalRank])[] = [
  [REFUSAL.request_entity_too_large, REFUSAL.invalid_request],
  [REFUSAL.no_funding, REFUSAL.window_exhausted],
  [REFUSAL.no_funding, REFUSAL.model_limit_reached],
  [REFUSAL.tier_permission_denied, REFUSAL.window_exhausted],
  [REFUSAL.tier_permission_denied, REFUSAL.model_limit_reached],
];

const RANKS = REFUSAL_RANKS.map(({ rank }) => rank).filter((rank) => rank >= REFUSAL.invalid_api_key);
const PAIRS = RANKS.flatMap((low) => RANKS.filter((high) => high > low).map((high) => [low, high] as const)).filter(
  ([low, high]) => !EXCLUSIVE.some(([one, other]) => one === low && other === high),
);

let world: World;
let replica: Replica;
let models = 0;

beforeAll(async () => {
  world = await makeWorld();
  replica = await world.replica();
});
afterAll(() => world.stop());

test('the scenarios cover every rank of the contracts', () => {
  expect(Object.keys(BREAK).map(Number)).toEqual(RANKS);
});

test('the base scenario is admitted and paid by the plan', async () => {
  expect(await rankOf(BASE)).toBe(0);
});

test.each(RANKS)('rank %i refuses alone', async (rank) => {
  expect(await rankOf(broken(rank))).toBe(rank);
});

// Covers r2
test.each(PAIRS)('ranks %i and %i together refuse with the lower one', async (low, high) => {
  expect(await rankOf(broken(high, low))).toBe(low);
});

function broken(...ranks: number[]): Scenario {
  const scenario: Scenario = { ...BASE, key: {}, model: {}, source: {} };
  for (const rank of ranks) BREAK[rank]?.(scenario);
  return scenario;
}

/** Returns the rank of the refusal, or 0 if the call is admitted. */
async function rankOf(scenario: Scenario): Promise<number> {
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
    // The key reference is cached, but the key's record now has another digest.
    await admit(replica, admitEntry(replica.clock, [account.digest], { bodyRefusal: REFUSAL.invalid_request }));
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
