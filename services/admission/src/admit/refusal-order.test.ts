import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMISSION_REFUSAL_CODES } from '@gateway/contracts/errors';
import type { RefusalCode } from '@gateway/contracts/errors';
import type { AccountTerms, AdmitEntry, CatalogModel, CatalogSource, KeyRecord } from '@gateway/contracts/messages';
import { monthlyWindowRow, allotmentRow } from '@gateway/metering';
import { buildCatalogView } from './catalog-view-rules.js';
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
  suspended: boolean;
  bodyRefusal: AdmitEntry['bodyRefusal'];
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
  suspended: false,
  bodyRefusal: null,
  model: {},
  source: {},
};

/** The change that causes each refusal. */
const BREAK: Partial<Record<RefusalCode, (scenario: Scenario) => void>> = {
  invalid_api_key: (scenario) => (scenario.rotated = true),
  key_inactive: (scenario) => (scenario.key.state = 'revoked'),
  key_expired: (scenario) => (scenario.key.expiresAt = 1),
  account_suspended: (scenario) => (scenario.suspended = true),
  rate_limited: (scenario) => (scenario.requestsPerMinute = 0),
  request_entity_too_large: (scenario) => (scenario.bodyRefusal = 'request_entity_too_large'),
  invalid_request: (scenario) => (scenario.bodyRefusal = 'invalid_request'),
  model_not_found: (scenario) => (scenario.model.active = false),
  model_not_allowed_on_key: (scenario) => (scenario.key.allowedModels = ['acme/other']),
  endpoint_not_supported_for_model: (scenario) => (scenario.source.endpoints = ['/v1/embeddings']),
  model_not_available: (scenario) => (scenario.model.available = false),
  model_not_priced: (scenario) => (scenario.model.prices = []),
  no_upstream_available: (scenario) => (scenario.source.enabled = false),
  outstanding_debt: (scenario) => (scenario.wallet = -1),
  no_funding: (scenario) => {
    scenario.plan = 'none';
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  tier_permission_denied: (scenario) => {
    if (scenario.plan === 'with model') scenario.plan = 'without model';
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  concurrency_limit: (scenario) => (scenario.concurrency = 0),
  window_exhausted: (scenario) => (scenario.windowLeft = 0),
  model_limit_reached: (scenario) => (scenario.allotmentLeft = 0),
  insufficient_credits: (scenario) => {
    scenario.windowLeft = Math.min(scenario.windowLeft, 1);
    scenario.wallet = Math.min(scenario.wallet, 0);
  },
  member_cap_reached: (scenario) => (scenario.memberCap = PRICE - 1),
  monthly_spend_cap_exceeded: (scenario) => (scenario.key.capNanoUsd = PRICE - 1),
};

/**
 * Rules that cannot break together: a body has one finding, and windows and allotments apply only
 * to calls that the plan pays for.
 */
const EXCLUSIVE: readonly (readonly [RefusalCode, RefusalCode])[] = [
  ['request_entity_too_large', 'invalid_request'],
  ['no_funding', 'window_exhausted'],
  ['no_funding', 'model_limit_reached'],
  ['tier_permission_denied', 'window_exhausted'],
  ['tier_permission_denied', 'model_limit_reached'],
];

const PAIRS = ADMISSION_REFUSAL_CODES.flatMap((first, place) =>
  ADMISSION_REFUSAL_CODES.slice(place + 1).map((second) => [first, second] as const),
).filter(([first, second]) => !EXCLUSIVE.some(([one, other]) => one === first && other === second));

let world: World;
let replica: Replica;
let models = 0;

beforeAll(async () => {
  world = await makeWorld();
  replica = await world.replica();
});
afterAll(() => world.stop());

test('the scenarios cover every refusal of admission', () => {
  expect(Object.keys(BREAK)).toEqual(ADMISSION_REFUSAL_CODES);
});

test('the base scenario is admitted and paid by the plan', async () => {
  expect(await refusalOf(BASE)).toBeNull();
});

test.each(ADMISSION_REFUSAL_CODES)('%s refuses alone', async (code) => {
  expect(await refusalOf(broken(code))).toBe(code);
});

// Covers r2
test.each(PAIRS)('%s comes before %s', async (first, second) => {
  expect(await refusalOf(broken(second, first))).toBe(first);
});

function broken(...codes: RefusalCode[]): Scenario {
  const scenario: Scenario = { ...BASE, key: {}, model: {}, source: {} };
  for (const code of codes) BREAK[code]?.(scenario);
  return scenario;
}

/** Returns the code of the refusal, or null if the call is admitted. */
async function refusalOf(scenario: Scenario): Promise<RefusalCode | null> {
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
  if (scenario.suspended) account.state.state = 'suspended';
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
    await admit(replica, admitEntry(replica.clock, [account.digest], { bodyRefusal: 'invalid_request' }));
    await replica.admission.apply({ keys: [account.changeKey({ digest: 'a'.repeat(64) })] });
  }
  const answer = await admit(
    replica,
    admitEntry(replica.clock, [account.digest], { model: id, bodyRefusal: scenario.bodyRefusal, ...bounds }),
  );
  if (answer.kind === 'admitted') {
    expect(answer.hold?.planMaxNanoUsd).toBeGreaterThan(0);
    return null;
  }
  if (answer.kind !== 'refused') throw new Error(JSON.stringify(answer));
  return answer.code;
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
