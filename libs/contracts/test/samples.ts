import fc from 'fast-check';
import { DIRECT_EXAMPLES } from '../src/messages/usage-record.js';
import type { HoldFields, PricedVersion } from '../src/messages/index.js';

const AT = Date.UTC(2026, 10, 20, 12);
const ID = '019a9f3c-1c00-7abc-8def-0123456789ab';
const DIGEST = 'a'.repeat(64);

const prices = { inputPerMillion: 1, cachedInputPerMillion: null, cacheWritePerMillion: 2, outputPerMillion: 3 };
const price: PricedVersion = {
  version: 'p1',
  figures: {
    ...prices,
    cacheWrite1hPerMillion: null,
    perCall: 0,
    tiers: [{ aboveInputTokens: 9, cacheWrite1hPerMillion: 4, ...prices }],
  },
};
const extras = {
  classes: { flex: { ...prices, cacheWrite1hPerMillion: null, tiers: [] } },
  units: { web_search: 7 },
  kinds: { audioInput: 1, audioOutput: null, imageInput: null, imageOutput: null },
};
const dearPrice: PricedVersion = { version: 'p2', figures: { ...price.figures, extras } };
const served = { class: 'flex', units: { web_search: 2 } };
const hold: HoldFields = {
  account: 'a-1',
  key: 'k-1',
  member: 'm-1',
  model: 'acme/one',
  priceVersion: 'p1',
  worstNanoUsd: 10,
  planMaxNanoUsd: 0,
  walletMaxNanoUsd: null,
  periods: { month: '2026-11', session5h: null, weekly: null, subscription: null },
  windows: [],
  allotment: null,
  admittedAt: AT,
};
const planHold: HoldFields = {
  ...hold,
  walletMaxNanoUsd: 5,
  periods: { month: '2026-11', session5h: AT, weekly: AT, subscription: { id: 's-1', start: AT, end: AT + 1 } },
  windows: [{ type: 'weekly', unit: 'usd' }],
  allotment: 'requests',
};
const usage = { input: 1, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 2 };
const admit = {
  id: ID,
  digests: [DIGEST],
  endpoint: '/v1/messages',
  model: 'acme/one',
  bodyRefusal: null,
  opened: false,
};
const bounds = { promptBytes: 1, arrayElements: 0, attachments: 0, outputTokensMax: 8192 };
const files = { documents: 1, documentBytes: 2, audios: 0, audioBytes: 0, videos: 1, videoBytes: 5 };
const releases = [
  { blind: false, id: ID, hold: planHold, callEpoch: 't', outcome: 'ok', amountNanoUsd: 7 },
  { blind: true, id: ID, digests: [DIGEST, DIGEST] },
];
const admitted = {
  kind: 'admitted',
  id: ID,
  account: 'a-1',
  bucket: 255,
  epoch: 't',
  sources: ['s-1'],
  repeated: false,
};
const periodTerms = {
  plan: { id: 'p', name: 'Plan', tier: 'gold' },
  requestsPerMinute: 60,
  concurrency: 5,
  models: null,
  windows: [{ type: 'session_5h', unit: 'usd', limit: 5, label: 'five hours' }],
  allotments: [{ model: 'acme/one', unit: 'requests', limit: 5 }],
};
const subscription = { id: 's', start: AT, end: AT + 1 };
const event = {
  id: ID,
  rank: 2,
  outcome: 'settled',
  hold: planHold,
  endpoint: null,
  streamed: true,
  startedAt: AT,
  endedAt: AT,
  firstByteAt: null,
  status: 200,
  source: null,
  usage,
  evidence: 'reported',
  price,
  amountNanoUsd: 5,
  traceparent: '00-0-0-01',
  attempts: [
    { source: 's', provider: 'p', outcome: 'completed', status: 200, possiblyPaid: true, usage: null, cost: price },
  ],
};

const kinds = { audioInput: 1, imageInput: 0, audioOutput: 2, imageOutput: 0 };
const dearEvent = {
  ...event,
  usage: { ...usage, kinds, samplings: [usage, { ...usage, kinds }] },
  price: dearPrice,
  attempts: event.attempts.map((attempt) => ({ ...attempt, cost: dearPrice, served, reportedCostNanoUsd: 5 })),
  served,
  ...DIRECT_EXAMPLES,
};

const usageBodies = [
  { events: [event, { ...event, hold, rank: 1, outcome: 'expired', usage: null, price: null }, dearEvent] },
];

const heartbeat = {
  edge: 'e',
  n: 1,
  chunk: 0,
  chunks: 1,
  epochs: [{ bucket: 3, epoch: 't' }],
  calls: [{ id: ID, hold, callEpoch: 't', endpoint: '/v1/messages' }],
  releases,
  last: false,
};

/** Valid bodies, then responses, of each message that is checked in place. */
export const SAMPLES: Readonly<Record<string, { bodies: readonly object[]; answers?: readonly object[] }>> = {
  'admission.batch': {
    bodies: [
      {
        edge: 'e-1',
        opens: [{ id: ID, digests: [DIGEST] }],
        admits: [
          { ...admit, bounds },
          { ...admit, bounds, requestedExtras: [{ ...served, field: 'service_tier' }], traceparent: '00-0-0-01' },
          { ...admit, bounds, unpricedField: 'tools', unpricedName: 'web_search' },
          { ...admit, bounds: { ...bounds, attachments: 3, files } },
          { ...admit, model: null, bounds: null, bodyRefusal: 'request_entity_too_large' },
        ],
        releases,
      },
    ],
    answers: [
      {
        replica: 'r-1',
        now: AT,
        answers: [
          { ...admitted, hold, price },
          { ...admitted, hold, price: dearPrice },
          { ...admitted, hold: null, price: null },
          { kind: 'opened', id: ID, account: 'a-1', bucket: 0, epoch: 't' },
          {
            kind: 'refused',
            id: ID,
            code: 'window_exhausted',
            facts: { limit: -1, unit: 'usd', window: 'weekly', allowedModels: ['a'] },
          },
          { kind: 'gone', id: ID },
          { kind: 'fault', id: ID, code: 'lookup_failed' },
        ],
        released: [ID],
      },
    ],
  },
  'edge.heartbeat': { bodies: [heartbeat] },
  'edge.heartbeat-short': {
    bodies: [{ ...heartbeat, names: [{ callEpoch: 't', accounts: [{ account: 'a-1', ids: [ID] }] }] }],
  },
  'edge.heartbeat-reply': {
    bodies: [{ n: 1, chunk: 0, epochs: [], abort: [ID], released: [ID], now: AT, full: true }],
  },
  'billing.balance-snapshot': {
    bodies: [
      {
        ledgerEpoch: ID,
        accounts: [
          {
            account: 'a-1',
            rows: [
              { name: 'wallet', value: null, version: 0 },
              { name: 'w:weekly:usd:1', value: -5, version: 9 },
            ],
            terms: {
              value: {
                ...periodTerms,
                subscription,
                next: { ...periodTerms, subscription },
                withoutPlan: { requestsPerMinute: 1, concurrency: 1 },
              },
              version: 3,
            },
            closed: [ID],
          },
          { account: 'a-2', rows: [], closed: [] },
        ],
      },
    ],
  },
  'usage.events': { bodies: usageBodies },
};

/** Values that are invalid for some fields. */
export const ODD = fc.oneof(
  fc.constantFrom(null, undefined, '', 0, -1, 1, 2, 3, 1.5, 600, NaN, Infinity, -0, 2 ** 53, 1e300, true, [], {}, 'x'),
  fc.constantFrom('a/b', 'a/', '-', 'é', 'settled', 'usd', '2026-13', '2026-11', 'x'.repeat(129), 'a\n', [[]], [null]),
  fc.constantFrom('admitted', 'refused', 'gone', 'opened', 'fault', 'kind', 'blind', '__proto__', {
    length: { toString: null },
  }),
  fc.string({ maxLength: 70 }),
  fc.integer(),
  fc.double(),
  fc.array(fc.constant({}), { maxLength: 20 }),
);

/** Returns every place in a JSON value: its parent and its name. */
export function placesOf(value: unknown): { parent: Record<string, unknown>; name: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    { parent: value as Record<string, unknown>, name },
    ...placesOf(inner),
  ]);
}
