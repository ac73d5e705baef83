import { type AccountTerms, type CallBounds, type Endpoint, TERMS_WITHOUT_PLAN } from '@gateway/contracts/messages';
import { buildCatalogView } from '../../src/admit/catalog-view-rules.js';
import type { CatalogView } from '../../src/admit/catalog-view-rules.js';
import { PRICE, figures, model, requestsWindow, source, usdWindow } from '../world.js';

const DAY_MS = 86_400_000;

/** Start times of sequences: near the ends of minutes, weeks, months, a leap day and a year. */
export const STARTS = [
  '2028-02-28T23:59:58.500Z',
  '2028-02-29T20:00:30.000Z',
  '2027-01-31T23:58:59.999Z',
  '2026-12-31T22:00:00.000Z',
  '2026-11-22T23:59:59.999Z',
  '2026-11-18T12:30:00.000Z',
].map((text) => Date.parse(text));

/** Models of the calls. Most of them can be served. */
export const MODELS = [
  ...Array<string>(8).fill('acme/fixed'),
  ...Array<string>(6).fill('acme/tokens'),
  ...Array<string>(3).fill('acme/dated'),
  ...['acme/off', 'acme/inactive', 'acme/unpriced', 'acme/sourceless', 'acme/disabled', 'acme/none'],
];

export const ENDPOINTS: readonly Endpoint[] = [
  ...Array<Endpoint>(12).fill('/v1/chat/completions'),
  ...['/v1/messages' as const, '/v1/messages/count_tokens' as const, '/v1/embeddings' as const],
];

const USUAL_BOUNDS: readonly CallBounds[] = [
  { promptBytes: 30, arrayElements: 0, attachments: 0, outputTokensMax: 10 },
  { promptBytes: 90_001, arrayElements: 0, attachments: 0, outputTokensMax: 200_000 },
  { promptBytes: 400_000, arrayElements: 7, attachments: 1, outputTokensMax: 1_000_000 },
  { promptBytes: 0, arrayElements: 0, attachments: 0, outputTokensMax: 0 },
];

/** With token prices, these calls cost the largest amount and an odd one: too much for a double. */
const GIANT_BOUNDS: readonly CallBounds[] = [
  { promptBytes: 30, arrayElements: 0, attachments: 0, outputTokensMax: Number.MAX_SAFE_INTEGER },
  { promptBytes: 28, arrayElements: 0, attachments: 0, outputTokensMax: 777_777_777_777_777 },
];

export const BOUNDS: readonly CallBounds[] = [...USUAL_BOUNDS, ...USUAL_BOUNDS, ...USUAL_BOUNDS, ...GIANT_BOUNDS];

/** Maximum cost of an ended call. It is above the hold of any usual call. */
export const COST_MAX = 12 * PRICE;

/** Prices of the dated model by time. Before the first and from the last on it has no price. */
export const DATED_PRICES = [
  { version: 'd1', after: -DAY_MS, perCall: 2 * PRICE },
  { version: 'd2', after: 61_000, perCall: 5 * PRICE },
  { version: 'd3', after: 40 * DAY_MS, perCall: null },
] as const;

const catalogs = new Map<number, CatalogView>();

/** Returns the catalog of sequences that begin at `start`. */
export function catalogFrom(start: number): CatalogView {
  const known = catalogs.get(start);
  if (known) return known;
  const tokens = { inputPerMillion: 3_000_000, outputPerMillion: 9_000_000, perCall: 1_000 };
  const dated = DATED_PRICES.map(({ version, after, perCall }) => ({
    version,
    effectiveFrom: start + after,
    figures: perCall === null ? null : figures({ perCall }),
  }));
  const view = buildCatalogView(
    [
      model('acme/fixed', {}),
      model('acme/tokens', { prices: [{ version: 'pt', effectiveFrom: 0, figures: figures(tokens) }] }),
      model('acme/dated', { prices: dated }),
      model('acme/off', { available: false }),
      model('acme/inactive', { active: false }),
      model('acme/unpriced', { prices: [] }),
      model('acme/sourceless', {}),
      model('acme/disabled', {}),
    ],
    ['fixed', 'tokens', 'dated', 'off', 'inactive', 'unpriced']
      .map((name) => source(`acme/${name}`, { enabled: true }))
      .concat(source('acme/disabled', { enabled: false })),
  );
  catalogs.set(start, view);
  return view;
}

/** Combines terms with those of the next period. */
export function renewing(terms: AccountTerms, next: AccountTerms): AccountTerms {
  const { plan, subscription, ...rest } = next;
  if (!plan || !subscription) throw new RangeError('what follows is a plan');
  const { next: _next, withoutPlan, ...limits } = rest;
  void [_next, withoutPlan];
  return { ...terms, next: { ...limits, plan, subscription } };
}

type Limits = Pick<AccountTerms, 'requestsPerMinute' | 'concurrency' | 'models' | 'windows' | 'allotments'>;

/** Small limits, so that few calls reach them. */
const PLANS: readonly Limits[] = [
  {
    requestsPerMinute: 12,
    concurrency: 3,
    models: ['acme/fixed'],
    windows: [usdWindow('session_5h', 5 * PRICE), requestsWindow('weekly', 9)],
    allotments: [{ model: 'acme/fixed', unit: 'requests', limit: 7 }],
  },
  {
    requestsPerMinute: 20,
    concurrency: 4,
    models: null,
    windows: [requestsWindow('session_5h', 5), usdWindow('weekly', 9 * PRICE), usdWindow('monthly', 14 * PRICE)],
    allotments: [{ model: 'acme/tokens', unit: 'usd', limit: 3 * PRICE }],
  },
  {
    requestsPerMinute: 6,
    concurrency: 6,
    models: ['acme/fixed', 'acme/tokens'],
    windows: [
      usdWindow('session_5h', 6 * PRICE),
      requestsWindow('session_5h', 4),
      usdWindow('weekly', 7 * PRICE),
      requestsWindow('monthly', 8),
    ],
    allotments: [],
  },
  { requestsPerMinute: 30, concurrency: 8, models: null, windows: [], allotments: [] },
  {
    requestsPerMinute: 25,
    concurrency: 5,
    models: null,
    windows: [usdWindow('session_5h', 12 * PRICE)],
    allotments: [{ model: 'acme/dated', unit: 'requests', limit: 2 }],
  },
];
export const PLANS_TOTAL = PLANS.length;
const PERIODS_MS = [120_000, DAY_MS, 8 * DAY_MS, 30 * DAY_MS];

export const NO_PLAN: AccountTerms = { ...TERMS_WITHOUT_PLAN, requestsPerMinute: 9, concurrency: 3 };

/**
 * @param period number of the subscription's period; a plan that changes within a period keeps it
 */
export function planTerms(plan: number, period: number, start: number, length: number): AccountTerms {
  const limits = PLANS[plan % PLANS.length];
  if (!limits) throw new RangeError('there are plans');
  const end = start + (PERIODS_MS[length % PERIODS_MS.length] ?? DAY_MS);
  return {
    ...limits,
    ...(length >= PERIODS_MS.length && { withoutPlan: { requestsPerMinute: 7, concurrency: 2 } }),
    plan: { id: `plan${plan % PLANS.length}`, name: 'Plan', tier: 'plan' },
    subscription: { id: `period${period}`, start, end },
  };
}
