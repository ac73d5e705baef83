import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CallBounds } from '@gateway/contracts/messages';
import { boundFigures, inputTokensBound, rate } from '@gateway/metering';
import { figuresFromWire } from '@gateway/contracts/messages';
import fc from 'fast-check';
import { buildCatalogView } from './catalog-view-rules.js';
import {
  admitEntry,
  batch,
  figures,
  makeAccount,
  makeWorld,
  model,
  release,
  source,
  usdWindow,
} from '../../test/world.js';
import type { Admitted, Replica, TestAccount, World } from '../../test/world.js';

/** Tests by how much limits can be exceeded (docs/behaviour.md#windows, #worst-case). */

const CONTEXT = 200_000;
/** One nano-USD per input token, five per output token, two per written cache token. */
const PRICES = figures({ inputPerMillion: 1_000_000, cacheWritePerMillion: 2_000_000, outputPerMillion: 5_000_000 });
const MODEL = { bytesPerToken: 3, contextLength: CONTEXT };
/** The value of gpt-4o-mini: three times the default. */
const LARGE_IMAGES = { imageTokens: 48_169 };

let world: World;
let one: Replica;
let subscriptions = 0;

beforeAll(async () => {
  world = await makeWorld();
  const prices = [{ version: 'p1', effectiveFrom: 0, figures: PRICES }];
  world.catalog = buildCatalogView(
    [model('acme/large', { ...MODEL, prices })],
    [source('acme/large', { attachments: LARGE_IMAGES })],
  );
  one = await world.replica();
});
afterAll(() => world.stop());

/** Sends all calls at once and returns the admitted ones. */
async function admitAll(
  account: TestAccount,
  bounds: readonly CallBounds[],
): Promise<(Admitted & { bounds: CallBounds })[]> {
  const entries = bounds.map((each) =>
    admitEntry(one.clock, [account.digest], { model: 'acme/large', endpoint: '/v1/messages', bounds: each }),
  );
  const { answers } = await batch(one, { admits: entries });
  return entries.flatMap((entry) => {
    const answer = answers.get(entry.id);
    if (answer?.kind === 'refused') return [];
    if (answer?.kind !== 'admitted') throw new Error(`not decided: ${JSON.stringify(answer)}`);
    return [{ ...(answer as Admitted), bounds: entry.bounds as CallBounds }];
  });
}

const files = fc.record({
  documents: fc.nat(2),
  documentBytes: fc.nat(7_000_000),
  audios: fc.nat(2),
  audioBytes: fc.nat(1_000_000),
  videos: fc.nat(2),
  videoBytes: fc.nat(1_000_000),
});
const attached: fc.Arbitrary<CallBounds> = fc
  .tuple(fc.nat(90_000), fc.nat(3), fc.option(files, { nil: undefined }), fc.nat(1_000))
  .map(([promptBytes, images, others, outputTokensMax]) => {
    const attachments = images + (others === undefined ? 0 : others.documents + others.audios + others.videos);
    return { promptBytes, arrayElements: 0, attachments, outputTokensMax, ...(others && { files: others }) };
  });

test("calls with attachments exceed wallet and cap by one call's excess at most", async () => {
  const limits = fc.record({
    bounds: fc.array(attached, { minLength: 2, maxLength: 12 }),
    wallet: fc.integer({ min: 1, max: 2_000_000 }),
    cap: fc.integer({ min: 1, max: 2_000_000 }),
    fill: fc.double({ min: 0.5, max: 1, noNaN: true }),
    excess: fc.nat(1_000_000),
  });
  await fc.assert(
    fc.asyncProperty(limits, async ({ bounds, wallet, cap, fill, excess }) => {
      const account = makeAccount(world, { wallet, key: { capNanoUsd: cap }, terms: { concurrency: 100 } });
      let charged = 0;
      // The second attempt meets the charges of the first.
      for (const surplus of [0, excess]) {
        const admitted = await admitAll(account, bounds);
        const releases = admitted.map((call, index) => {
          const input = Math.floor(inputTokensBound(call.bounds, boundFigures(MODEL, [LARGE_IMAGES])) * fill);
          const usage = {
            input,
            cachedInput: 0,
            cacheWrite: 0,
            cacheWrite1h: input,
            output: call.bounds.outputTokensMax,
          };
          const cost = Number(rate(usage, figuresFromWire(PRICES)));
          expect(cost).toBeLessThanOrEqual(call.hold.worstNanoUsd);
          const amount = index === 0 && surplus > 0 ? call.hold.worstNanoUsd + surplus : cost;
          charged += amount;
          return release(call, 'ok', amount);
        });
        await batch(one, { releases });
        expect(charged).toBeLessThanOrEqual(Math.min(wallet, cap) + surplus);
      }
    }),
    { numRuns: 40 },
  );
});

test('an image is held by the token number of its source', async () => {
  const account = makeAccount(world, { wallet: 1_000_000 });
  const [admitted] = await admitAll(account, [{ ...outputOf(0), attachments: 1 }]);
  expect(admitted?.hold.worstNanoUsd).toBe(48_169 * 2);
});

test('eight parallel PDFs are refused if wallet or cap do not cover the context', async () => {
  const pdf = { documents: 1, documentBytes: 5_250_000, audios: 0, audioBytes: 0, videos: 0, videoBytes: 0 };
  const bounds = { promptBytes: 100, arrayElements: 0, attachments: 1, outputTokensMax: 100, files: pdf };
  const worst = CONTEXT * 2 + 500;
  const eight = Array.from({ length: 8 }, () => bounds);
  expect(await admitAll(makeAccount(world, { wallet: worst - 1 }), eight)).toEqual([]);
  const capped = makeAccount(world, {
    wallet: 100 * worst,
    key: { capNanoUsd: 2 * worst },
    terms: { concurrency: 100 },
  });
  const admitted = await admitAll(capped, eight);
  expect(admitted.map(({ hold }) => hold.worstNanoUsd)).toEqual([worst, worst]);
});

function planAccount(concurrency: number, windowLimit: number | null, allotmentLimit: number | null): TestAccount {
  subscriptions += 1;
  const now = one.clock.now();
  const weekly = windowLimit === null ? [] : [usdWindow('weekly', windowLimit)];
  const allotment = { model: 'acme/large', unit: 'usd', limit: allotmentLimit ?? 0 } as const;
  return makeAccount(world, {
    wallet: 0,
    terms: {
      plan: { id: 'pro', name: 'Pro', tier: 'pro' },
      models: ['acme/large'],
      concurrency,
      requestsPerMinute: 10_000,
      windows: weekly,
      allotments: allotmentLimit === null ? [] : [allotment],
      subscription: { id: `sub-excess-${subscriptions}`, start: now - 1_000, end: now + 30 * 86_400_000 },
    },
  });
}

/** A call that costs at most `output` tokens, each five nano-USD. */
const outputOf = (output: number): CallBounds => ({
  promptBytes: 0,
  arrayElements: 0,
  attachments: 0,
  outputTokensMax: output,
});

test.each([
  ['a USD window', 1_000, null, 949],
  ['an allotment in USD', null, 1_000, 999],
])('%s is exceeded by concurrent calls', async (_what, windowLimit, allotmentLimit, before) => {
  const account = planAccount(4, windowLimit, allotmentLimit);
  const [first] = await admitAll(account, [outputOf(1_000)]);
  await batch(one, { releases: [release(first as Admitted, 'ok', before)] });
  const admitted = await admitAll(
    account,
    Array.from({ length: 6 }, () => outputOf(1_000)),
  );
  expect(admitted).toHaveLength(4);
  await batch(one, { releases: admitted.map((call) => release(call, 'ok', 5_000)) });
  const entry = admitEntry(one.clock, [account.digest], { model: 'acme/large' });
  const { answers } = await batch(one, { admits: [entry] });
  expect(answers.get(entry.id)).toMatchObject({
    kind: 'refused',
    code: windowLimit === null ? 'model_limit_reached' : 'window_exhausted',
    facts: { used: before + 4 * 5_000 },
  });
});

test('USD windows and allotments are exceeded by the documented amount at most', async () => {
  const step = fc.record({
    output: fc.integer({ min: 1, max: 400 }),
    ends: fc.nat(),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const play = fc.record({
    concurrency: fc.integer({ min: 1, max: 6 }),
    limit: fc.integer({ min: 100, max: 10_000 }),
    isWindow: fc.boolean(),
    steps: fc.array(step, { minLength: 10, maxLength: 30 }),
  });
  await fc.assert(
    fc.asyncProperty(play, async ({ concurrency, limit, isWindow, steps }) => {
      const account = planAccount(concurrency, isWindow ? limit : null, isWindow ? null : limit);
      let used = 0;
      let dearest = 0;
      /** The highest cost of the calls that run when the last one begins. */
      let most = 0;
      let running: { call: Admitted; cost: number }[] = [];
      const end = async (ended: typeof running): Promise<void> => {
        running = running.filter((each) => !ended.includes(each));
        await batch(one, { releases: ended.map(({ call, cost }) => release(call, 'ok', cost)) });
        for (const { cost } of ended) used += cost;
      };
      for (const { output, ends, share } of steps) {
        const [call] = await admitAll(account, [outputOf(output)]);
        if (call !== undefined) {
          const cost = Math.floor(call.hold.worstNanoUsd * share);
          expect(used).toBeLessThan(limit);
          running.push({ call, cost });
          dearest = Math.max(dearest, cost);
          most = used + running.reduce((sum, each) => sum + each.cost, 0);
        }
        if (running.length > 0 && ends % 3 === 0)
          await end([running[ends % running.length] as (typeof running)[number]]);
      }
      await end(running);
      expect(used).toBeLessThanOrEqual(most);
      const sharedExcess = concurrency * dearest - (isWindow ? 0.05 * limit : 0);
      expect(used).toBeLessThanOrEqual(limit + Math.max(dearest, sharedExcess));
    }),
    { numRuns: 25 },
  );
});
