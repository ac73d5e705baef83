import { expect, test } from '@jest/globals';
import type { CatalogSource } from '@gateway/contracts/messages';
import fc from 'fast-check';
import { affinityKey, type AffinityKey } from '../parse/affinity.js';
import {
  BREAKER_FAILURES,
  BREAKER_OPEN_MS,
  isCoolingDown,
  recordOutcome,
  recordStart,
  orderSources,
} from './source-order.js';
import type { SourceHealth } from './source-order.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

const NOW = 1_000_000;
const FAILURE = { step: 'final', outcome: 'broken', coolDownMs: null, countsAsFailure: true, refusal: null } as const;
const SUCCESS = {
  step: 'final',
  outcome: 'completed',
  coolDownMs: null,
  countsAsFailure: false,
  refusal: null,
} as const;
const LIMITED = {
  step: 'next_source',
  outcome: 'rejected',
  coolDownMs: 5_000,
  countsAsFailure: false,
  refusal: null,
} as const;
const LEFT = { step: 'final', outcome: 'abandoned', coolDownMs: null, countsAsFailure: false, refusal: null } as const;
const FRESH = {
  step: 'fresh_connection',
  outcome: 'broken',
  coolDownMs: null,
  countsAsFailure: false,
  refusal: null,
} as const;
const REPLACED = { ...FRESH, step: 'fresh_credential', outcome: 'rejected' } as const;
const REFUSED = { ...LIMITED, coolDownMs: null, refusal: 'certain' } as const;
const DOUBTFUL = { ...REFUSED, refusal: 'unclear' } as const;
const WELL: SourceHealth = {
  failures: 0,
  coolUntilMs: 0,
  openUntilMs: 0,
  refusedUntilMs: 0,
  probing: false,
  refusals: 0,
  doubts: [],
};
const RESTING: SourceHealth = { ...WELL, coolUntilMs: NOW + 1 };
const OPEN: SourceHealth = { ...WELL, failures: 5, openUntilMs: NOW + 1 };

test('orderSources() puts the lowest priority first', () => {
  expect(order([source('c', 2), source('a', 0), source('b', 1)])).toEqual(['a', 'b', 'c']);
});

test('orderSources() puts sources in a cooldown last, at any priority', () => {
  const health = new Map([
    ['a', RESTING],
    ['b', OPEN],
  ]);
  expect(order([source('a', 0), source('b', 1), source('c', 2)], health)).toEqual(['c', 'a', 'b']);
  expect(order([source('a', 0)], health)).toEqual(['a']);
});

test("a source's cooldown and breaker end at the exact millisecond", () => {
  const over = new Map([
    ['a', { ...RESTING, coolUntilMs: NOW }],
    ['b', { ...OPEN, openUntilMs: NOW }],
  ]);
  expect(order([source('b', 1), source('a', 0), source('c', 2)], over)).toEqual(['a', 'b', 'c']);
});

test('orderSources() keeps eight sources and drops unhealthy ones first', () => {
  const sources = Array.from({ length: 10 }, (_, i) => source(`s${i}`, 0));
  const health = new Map([
    ['s0', RESTING],
    ['s1', RESTING],
  ]);
  const ids = order(sources, health);
  expect(ids).toHaveLength(8);
  expect(ids).not.toContain('s0');
  expect(ids).not.toContain('s1');
});

test('10,000 accounts share the first and second places by weight', () => {
  const weights: Readonly<Record<string, number>> = { a: 1, b: 3, c: 6, d: 10 };
  const sources = [...Object.entries(weights).map(([id, weight]) => source(id, 0, weight)), source('z', 1, 1000)];
  const accounts = 10_000;
  const places = Array.from({ length: 2 }, () => new Map<string, number>());
  for (let account = 0; account < accounts; account += 1) {
    const ids = orderSources(sources, ranks(NO_HEALTH, NOW), () => keyOf(`acc-${account}`)).map(({ id }) => id);
    for (const [place, found] of places.entries()) found.set(ids[place] ?? '', (found.get(ids[place] ?? '') ?? 0) + 1);
    expect(ids[4]).toBe('z');
  }
  const sum = 20;
  for (const [id, weight] of Object.entries(weights)) {
    const first = weight / sum;
    expect(Math.abs((places[0]?.get(id) ?? 0) - accounts * first)).toBeLessThan(sigmas(3, accounts, first));
    let second = 0;
    for (const [other, taken] of Object.entries(weights)) {
      if (other !== id) second += (taken / sum) * (weight / (sum - taken));
    }
    expect(Math.abs((places[1]?.get(id) ?? 0) - accounts * second)).toBeLessThan(sigmas(3, accounts, second));
  }
});

test('the prompts of one account are shared like those of many accounts', () => {
  const sources = [source('src-1', 0, 1), source('src-2', 0, 1), source('src-3', 0, 2)];
  const prompts = 10_000;
  const firsts = new Map<string, number>();
  for (let prompt = 0; prompt < prompts; prompt += 1) {
    const id = orderSources(sources, ranks(NO_HEALTH, NOW), () => keyOf('acc', `"Question ${prompt}"`))[0]?.id ?? '';
    firsts.set(id, (firsts.get(id) ?? 0) + 1);
  }
  for (const [id, share] of [
    ['src-1', 0.25],
    ['src-2', 0.25],
    ['src-3', 0.5],
  ] as const) {
    expect(Math.abs((firsts.get(id) ?? 0) - prompts * share)).toBeLessThan(sigmas(3, prompts, share));
  }
});

test('a source in a cooldown passes on its calls and gets the same ones back', () => {
  const sources = ['a', 'b', 'c'].map((id) => source(id, 0));
  const resting = new Map([['b', RESTING]]);
  for (let account = 0; account < 300; account += 1) {
    const key = (): AffinityKey => keyOf(`acc-${account}`);
    const well = orderSources(sources, ranks(NO_HEALTH, NOW), key).map(({ id }) => id);
    const rests = orderSources(sources, ranks(resting, NOW), key).map(({ id }) => id);
    expect(rests).toEqual([...well.filter((id) => id !== 'b'), 'b']);
    expect(orderSources(sources, ranks(resting, NOW + 1), key).map(({ id }) => id)).toEqual(well);
  }
});

test('orderSources() hashes nothing if priorities differ', () => {
  const key = (): never => {
    throw new Error('no key is needed');
  };
  const ordered = orderSources([source('b', 1), source('a', 0)], ranks(NO_HEALTH, NOW), key);
  expect(ordered.map(({ id }) => id)).toEqual(['a', 'b']);
});

const SOME_SOURCES = fc.uniqueArray(
  fc.record({ id: fc.string(), priority: fc.nat(3), weight: fc.integer({ min: 1, max: 1000 }) }),
  { maxLength: 8, selector: ({ id }) => id },
);
const WORD = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const SOME_KEY = fc.record({ high: WORD, low: WORD });

test(
  'orderSources() is repeatable, has each source once and keeps its input',
  () => {
    fc.assert(
      fc.property(SOME_SOURCES, SOME_KEY, (list, key) => {
        const given = Object.freeze(list.map(({ id, priority, weight }) => source(id, priority, weight)));
        const ordered = orderSources(given, ranks(NO_HEALTH, NOW), () => key);
        expect(ordered.map(({ id }) => id).sort()).toEqual(list.map(({ id }) => id).sort());
        const priorities = ordered.map(({ priority }) => priority);
        expect(priorities).toEqual([...priorities].sort((one, other) => one - other));
        expect(orderSources(given.toReversed(), ranks(NO_HEALTH, NOW), () => key)).toEqual(ordered);
      }),
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'a removed source moves only its own keys',
  () => {
    fc.assert(
      fc.property(SOME_SOURCES, SOME_KEY, fc.nat(7), (list, key, at) => {
        const all = list.map(({ id, priority, weight }) => source(id, priority, weight));
        const gone = all[at]?.id;
        const before = orderSources(all, ranks(NO_HEALTH, NOW), () => key);
        const after = orderSources(
          all.filter(({ id }) => id !== gone),
          ranks(NO_HEALTH, NOW),
          () => key,
        );
        expect(after).toEqual(before.filter(({ id }) => id !== gone));
      }),
    );
  },
  PROPERTY_MS_MAX,
);

test('five consecutive failures open the breaker for 30 s', () => {
  expect([BREAKER_FAILURES, BREAKER_OPEN_MS]).toEqual([5, 30_000]);
  const four = fold([FAILURE, FAILURE, FAILURE, FAILURE]);
  expect(isCoolingDown(four, NOW)).toBe(false);
  const five = recordOutcome(four, FAILURE, NOW);
  expect(five).toEqual({ ...WELL, failures: 5, openUntilMs: NOW + 30_000 });
  expect(isCoolingDown(five, NOW + 29_999)).toBe(true);
  expect(isCoolingDown(five, NOW + 30_000)).toBe(false);
});

test('only a response resets the failures, not a 429, a disconnect or a retry', () => {
  expect(fold([FAILURE, FAILURE, FAILURE, FAILURE, SUCCESS, FAILURE])).toMatchObject({ failures: 1, openUntilMs: 0 });
  expect(fold([FAILURE, FAILURE, LIMITED, LEFT, FRESH, REPLACED])).toMatchObject({ failures: 2 });
  expect(fold([FAILURE, FAILURE, LIMITED, FAILURE, LEFT, FAILURE, FRESH, FAILURE])).toMatchObject({ failures: 5 });
});

test('one probe follows an open breaker and closes or reopens it', () => {
  const open = fold([FAILURE, FAILURE, FAILURE, FAILURE, FAILURE]);
  const later = NOW + BREAKER_OPEN_MS;
  expect(isCoolingDown(open, later)).toBe(false);
  const probing = recordStart(open, later);
  expect(isCoolingDown(probing, later)).toBe(true);
  expect(recordStart(probing, later)).toEqual(probing);
  expect(isCoolingDown(recordOutcome(probing, SUCCESS, later + 10), later + 10)).toBe(false);
  expect(recordOutcome(probing, FAILURE, later + 10).openUntilMs).toBe(later + 10 + BREAKER_OPEN_MS);
  expect(isCoolingDown(probing, later + BREAKER_OPEN_MS)).toBe(false);
});

test('noteStart() does not change a healthy source', () => {
  expect(isCoolingDown(recordStart(undefined, NOW), NOW)).toBe(false);
  expect(recordStart(RESTING, NOW)).toEqual(RESTING);
});

test('a cooldown lasts for the stated time, and a shorter one does not shorten it', () => {
  const long = recordOutcome(undefined, { ...LIMITED, coolDownMs: 60_000 }, NOW);
  expect(long).toEqual({ ...WELL, coolUntilMs: NOW + 60_000 });
  expect(recordOutcome(long, LIMITED, NOW).coolUntilMs).toBe(NOW + 60_000);
});

test('a response that began before a cooldown only closes the breaker', () => {
  const cooling = recordOutcome(undefined, { ...LIMITED, coolDownMs: 60_000 }, NOW);
  expect(recordOutcome(cooling, SUCCESS, NOW + 1)).toEqual(cooling);
  const open = fold([FAILURE, FAILURE, FAILURE, FAILURE, FAILURE]);
  expect(recordOutcome(open, SUCCESS, NOW + 1)).toEqual(WELL);
});

test('refusals cool a source down for 30 s, doubled up to ten minutes', () => {
  let health: SourceHealth | undefined;
  let nowMs = NOW;
  const rests: number[] = [];
  for (let times = 0; times < 7; times += 1) {
    health = recordOutcome(health, REFUSED, nowMs, 'account-1');
    rests.push((health.refusedUntilMs - nowMs) / 1_000);
    // Calls that were in progress do not change the cooldown.
    expect(recordOutcome(health, REFUSED, nowMs + 1, 'account-2')).toEqual(health);
    expect(isCoolingDown(health, health.refusedUntilMs - 1)).toBe(true);
    expect(isCoolingDown(health, health.refusedUntilMs)).toBe(false);
    nowMs = health.refusedUntilMs;
  }
  expect(rests).toEqual([30, 60, 120, 240, 480, 600, 600]);
  const well = recordOutcome(health, SUCCESS, nowMs);
  expect(recordOutcome(well, REFUSED, nowMs).refusedUntilMs - nowMs).toBe(30_000);
});

test('a refusal that an account can cause counts after three accounts met it', () => {
  const met = (accounts: readonly (string | null)[], before?: SourceHealth) =>
    accounts.reduce<SourceHealth | undefined>(
      (health, account) => recordOutcome(health, DOUBTFUL, NOW, account),
      before,
    );
  const one = met(Array.from({ length: 100 }, () => 'a'));
  expect(one).toEqual({ ...WELL, doubts: ['a'] });
  expect(isCoolingDown(met(['a', 'b', null, null, 'a', 'b']), NOW)).toBe(false);
  const three = met(['b', 'c'], one);
  expect(three).toEqual({ ...WELL, refusedUntilMs: NOW + 30_000, refusals: 1, doubts: [] });
  const answered = recordOutcome(met(['a', 'b']), SUCCESS, NOW);
  expect(isCoolingDown(met(['c'], answered), NOW)).toBe(false);
});

test('a refusal neither counts as a failure nor closes a breaker', () => {
  const open = fold([FAILURE, FAILURE, FAILURE, FAILURE, FAILURE]);
  expect(recordOutcome(open, REFUSED, NOW)).toMatchObject({ failures: 5, openUntilMs: NOW + BREAKER_OPEN_MS });
  expect(recordOutcome(open, DOUBTFUL, NOW, 'a')).toMatchObject({ failures: 5, openUntilMs: NOW + BREAKER_OPEN_MS });
});

function source(id: string, priority: number, weight = 1): CatalogSource {
  return {
    v: 1,
    id,
    model: 'lab/one',
    provider: 'p',
    baseUrl: 'http://provider.test',
    upstreamModel: 'up',
    endpoints: ['/v1/chat/completions'],
    paths: {},
    auth: { type: 'bearer' },
    sealedCredential: null,
    headers: {},
    betas: 'pass',
    priority,
    weight,
    enabled: true,
    streamUsage: true,
    cancelStopsBilling: false,
    limits: { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null },
    costs: [],
  };
}

const NO_HEALTH: ReadonlyMap<string, SourceHealth> = new Map();

/** Ranks by own attempts only. */
function ranks(health: ReadonlyMap<string, SourceHealth>, nowMs: number): (source: string) => number {
  return (source) => Number(isCoolingDown(health.get(source), nowMs));
}

function order(sources: CatalogSource[], health = NO_HEALTH): string[] {
  return orderSources(sources, ranks(health, NOW), () => keyOf('acc')).map(({ id }) => id);
}

function keyOf(account: string, prompt = '"Hello"'): AffinityKey {
  const body = Buffer.from(prompt);
  return affinityKey(account, body, [{ start: 0, end: body.length }]);
}

/** Returns `count` standard deviations of the hits in `times` draws with probability `share`. */
function sigmas(count: number, times: number, share: number): number {
  return count * Math.sqrt(times * share * (1 - share));
}

type Judged = Parameters<typeof recordOutcome>[1];

function fold(outcomes: readonly Judged[]): SourceHealth | undefined {
  return outcomes.reduce<SourceHealth | undefined>((health, judged) => recordOutcome(health, judged, NOW), undefined);
}
