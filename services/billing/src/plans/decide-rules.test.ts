import { describe, expect, test } from '@jest/globals';
import { isRefusal, planSpec } from '@gateway/contracts/operator';
import { CHANGES_BYTES_MAX, decidePlans, type PlanState } from './decide-rules.js';
import { planFromWire, type PlanSpec, toPlanView } from './rules.js';

const MADE = new Date('2026-11-01T00:00:00Z');
const NOW = new Date('2026-11-20T00:00:00Z');

const WIRE = {
  name: 'Pro',
  tier: 'pro',
  models: ['acme/one', 'acme/two'],
  windows: [
    { type: 'session_5h', unit: 'usd', limit: '5' },
    { type: 'weekly', unit: 'requests', limit: 1_000, label: 'Week' },
    { type: 'monthly', unit: 'usd', limit: '9000000' },
  ],
  modelAllotments: [{ modelId: 'acme/one', unit: 'usd', limit: '0.000000001' }],
  defaultKeySpendCapUsd: '12.5',
};

function plan(changes: object = {}): PlanSpec {
  const read = planFromWire(planSpec.parse({ ...WIRE, ...changes }));
  if (isRefusal(read)) throw new Error(read.refused.message);
  return read;
}

function known(id: string, changes: Partial<PlanState> = {}): [string, PlanState] {
  return [id, { id, version: 4, plan: plan(), createdAt: MADE, deleted: false, inUse: false, ...changes }];
}

describe('planFromWire()', () => {
  test('adds the defaults of the contract and window labels', () => {
    expect(plan()).toMatchObject({
      requestsPerMinute: 60,
      concurrency: 10,
      activeKeysMax: 3,
      defaultKeyCapNanoUsd: 12_500_000_000n,
      windows: [
        { limit: 5_000_000_000n, label: 'Session (5 hours)' },
        { limit: 1_000n, label: 'Week' },
        { limit: 9_000_000_000_000_000n, label: 'Monthly' },
      ],
      allotments: [{ model: 'acme/one', limit: 1n }],
    });
  });

  test('returns the same plan for the view of a plan', () => {
    for (const changes of [{}, { models: null, windows: [], modelAllotments: [], defaultKeySpendCapUsd: null }]) {
      const view = toPlanView({ id: 'pro', version: 1, plan: plan(changes), createdAt: MADE });
      expect(planFromWire(planSpec.parse(view))).toEqual(plan(changes));
    }
  });

  test.each([
    ['windows[1].limit', { windows: [WIRE.windows[0], { type: 'weekly', unit: 'usd', limit: '9000000.000000001' }] }],
    ['modelAllotments[0].limit', { modelAllotments: [{ modelId: 'acme/one', unit: 'usd', limit: '9999999' }] }],
    ['defaultKeySpendCapUsd', { defaultKeySpendCapUsd: '9000001' }],
  ])('requires a schema that rejects amounts out of bounds: %s', (param, changes) => {
    const path = planSpec.safeParse({ ...WIRE, ...changes }).error?.issues[0]?.path ?? [];
    expect(path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')).toBe(
      `.${param}`,
    );
  });
});

test.each<[string, [string, PlanState][], PlanSpec, object]>([
  ['unknown becomes version 1', [], plan(), { change: 'created', before: null, after: { version: 1, createdAt: NOW } }],
  [
    'equal creates no version',
    [known('pro')],
    plan(),
    { change: 'unchanged', before: { version: 4 }, after: { version: 4 } },
  ],
  [
    'changed creates the next version',
    [known('pro')],
    plan({ name: 'P' }),
    { change: 'changed', before: { version: 4 }, after: { version: 5, createdAt: MADE } },
  ],
  [
    'deleted continues its versions',
    [known('pro', { deleted: true })],
    plan(),
    { change: 'created', before: null, after: { version: 5 } },
  ],
  [
    'reordered in its models is changed',
    [known('pro')],
    plan({ models: ['acme/two', 'acme/one'] }),
    { change: 'changed' },
  ],
])('decidePlans(): a put plan that is %s', (_name, plans, put, expected) => {
  const wanted = { puts: [{ id: 'pro', plan: put }], deletes: [], prune: false };
  expect(decidePlans(wanted, new Map(plans), NOW)).toMatchObject([{ id: 'pro', ...expected }]);
});

test('decidePlans() with prune deletes the existing plans that are not put, by ID', () => {
  const plans = new Map([known('z'), known('b'), known('pro'), known('gone', { deleted: true })]);
  const wanted = { puts: [{ id: 'pro', plan: plan() }], deletes: [], prune: true };
  expect(decidePlans(wanted, plans, NOW)).toMatchObject([
    { id: 'pro', change: 'unchanged' },
    { id: 'b', change: 'deleted', before: { version: 4 }, after: null },
    { id: 'z', change: 'deleted' },
  ]);
});

test.each<[string, [string, PlanState][], object]>([
  ['not_found', [], { deletes: ['pro'] }],
  ['not_found', [known('pro', { deleted: true })], { deletes: ['pro'] }],
  ['in_use', [known('pro', { inUse: true })], { deletes: ['pro'] }],
  ['in_use', [known('a'), known('pro', { inUse: true })], { prune: true }],
])('decidePlans() refuses all changes with %s', (code, plans, wanted) => {
  const all = { puts: [], deletes: [], prune: false, ...wanted };
  expect(decidePlans(all, new Map(plans), NOW)).toMatchObject({
    refused: { code, message: expect.stringContaining('pro') },
  });
});

test('decidePlans() refuses more changes than a message can carry', () => {
  const models = Array.from({ length: 500 }, (_, index) => `acme/${String(index).padStart(100, '0')}`);
  const large = plan({ models });
  const ids = Array.from({ length: Math.ceil(CHANGES_BYTES_MAX / 50_000) }, (_, index) => `plan-${index}`);
  const wanted = { puts: ids.map((id) => ({ id, plan: large })), deletes: [], prune: false };
  expect(decidePlans(wanted, new Map(), NOW)).toMatchObject({ refused: { code: 'invalid_request' } });
  const same = new Map(ids.map((id) => known(id, { plan: large })));
  expect(decidePlans(wanted, same, NOW)).toHaveLength(ids.length);
});
