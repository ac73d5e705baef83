import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { REFUSAL } from '../errors/index.js';
import { compileCheck } from './compile-check.js';
import { MESSAGES, type HoldFields, type PricedVersion } from './index.js';

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
const releases = [
  { blind: false, id: ID, hold: planHold, tag: 't', outcome: 'ok', amountNanoUsd: 7 },
  { blind: true, id: ID, digests: [DIGEST, DIGEST] },
];
const admitted = {
  kind: 'admitted',
  id: ID,
  account: 'a-1',
  bucket: 255,
  token: 't',
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

/** What its handlers get of each message that is checked in place: bodies, then answers. */
const SAMPLES: Readonly<Record<string, { bodies: readonly object[]; answers?: readonly object[] }>> = {
  'admission.batch': {
    bodies: [
      {
        edge: 'e-1',
        opens: [{ id: ID, digests: [DIGEST] }],
        admits: [
          { ...admit, bounds },
          { ...admit, model: null, bounds: null, bodyRefusal: REFUSAL.request_entity_too_large },
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
          { ...admitted, hold: null, price: null },
          { kind: 'opened', id: ID, account: 'a-1', bucket: 0, token: 't' },
          {
            kind: 'refused',
            id: ID,
            row: REFUSAL.window_exhausted,
            facts: { limit: -1, unit: 'usd', window: 'weekly', allowedModels: ['a'] },
          },
          { kind: 'gone', id: ID },
          { kind: 'fault', id: ID, code: 'lookup_failed' },
        ],
        released: [ID],
      },
    ],
  },
  'edge.beat': {
    bodies: [
      {
        edge: 'e',
        n: 1,
        chunk: 0,
        chunks: 1,
        tokens: [{ bucket: 3, token: 't' }],
        calls: [{ id: ID, hold, tag: 't', endpoint: '/v1/messages' }],
        releases,
        last: false,
      },
    ],
  },
  'edge.verdict': { bodies: [{ n: 1, chunk: 0, tokens: [], abort: [ID], released: [ID], now: AT }] },
  'billing.standing': {
    bodies: [
      {
        incarnation: 'i',
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
  'usage.recorded': {
    bodies: [{ events: [event, { ...event, hold, rank: 1, outcome: 'expired', usage: null, price: null }] }],
  },
};

const CASES = MESSAGES.filter(({ checkedInPlace }) => checkedInPlace === true).flatMap((message) => {
  const { bodies, answers = [] } = SAMPLES[message.name] ?? { bodies: [] };
  const answer = message.kind === 'request' ? message.answer : null;
  return [
    { what: message.name, schema: message.body, samples: bodies },
    ...(answer === null ? [] : [{ what: `an answer to ${message.name}`, schema: answer, samples: answers }]),
  ];
});

/** Values that are wrong for one field or another. */
const ODD = fc.oneof(
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

/** Every place in a value of JSON: its parent and its name. */
function placesOf(value: unknown): { parent: Record<string, unknown>; name: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    { parent: value as Record<string, unknown>, name },
    ...placesOf(inner),
  ]);
}

test.each(CASES)('$what is accepted and refused as its schema does', ({ schema, samples }) => {
  const check = compileCheck(schema);
  expect(samples.map((sample) => [check(sample), schema.safeParse(sample).error])).toEqual(
    samples.map(() => [true, undefined]),
  );
  let refused = 0;
  fc.assert(
    fc.property(fc.constantFrom(...samples), fc.nat(), ODD, fc.integer({ min: 0, max: 2 }), (sample, at, odd, way) => {
      const changed = structuredClone(sample) as unknown;
      const places = placesOf(changed);
      const { parent, name } = places[at % places.length] as (typeof places)[number];
      if (way === 0) parent[name] = odd;
      else if (Array.isArray(parent)) parent.splice(Number(name), 1);
      else if (way === 1) Reflect.deleteProperty(parent, name);
      else parent[`${name}x`] = odd;
      const accepted = isAccepted(schema, changed);
      if (!accepted) refused += 1;
      return check(changed) === accepted;
    }),
    { numRuns: 1_000 },
  );
  expect(refused).toBeGreaterThan(150);
});

/** A schema's own checks fail where a text cannot be made of a list's length. */
function isAccepted(schema: z.ZodType, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false;
  }
}

test('what a message in place accepts is what its schema would hand on', () => {
  for (const { schema, samples } of CASES) for (const sample of samples) expect(schema.parse(sample)).toEqual(sample);
});

test('what is no object at all is refused', () => {
  for (const { schema, samples } of CASES) {
    const check = compileCheck(schema);
    for (const value of [null, undefined, 1, 'event', [], {}, [samples[0]]]) expect(check(value)).toBe(false);
  }
});

test.each([
  ['a number that is not whole', z.number()],
  ['a rule of texts', z.object({ at: z.iso.datetime() })],
  ['a rule of objects', z.strictObject({ a: z.string() })],
  ['a field that is filled in', z.object({ a: z.int().default(1) })],
])('a schema with %s is refused at once', (_what, schema) => {
  expect(() => compileCheck(schema)).toThrow(/no check for/);
});
