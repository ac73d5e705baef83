import { expect, test } from '@jest/globals';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { QuotaModel, type Trouble } from '../../test/quota-model.js';

const SEED = testSeed();
/** Each round takes a quarter of a second. */
const ROUNDS = 600;

/** All shares are renewed in time. Calls may take long. */
const SOME: Trouble = { delayMsMax: 300, lossesApart: 12, skewMsMax: 500, callMsMax: 20_000, cutMs: 0 };
/** Shares expire while their edges live. Only calls that continue then exceed a quota. */
const MUCH: Trouble = { delayMsMax: 1_500, lossesApart: 0, skewMsMax: 200, callMsMax: 500, cutMs: 25_000 };

test.each([
  [{ requestsPerMinute: 100, callsAtOnce: 8, tokensPerMinute: null }, 2, SOME],
  [{ requestsPerMinute: 100, callsAtOnce: 8, tokensPerMinute: null }, 2, MUCH],
  [{ requestsPerMinute: 600, callsAtOnce: 30, tokensPerMinute: null }, 5, SOME],
  [{ requestsPerMinute: 600, callsAtOnce: 30, tokensPerMinute: null }, 5, MUCH],
  [{ requestsPerMinute: 3, callsAtOnce: 1, tokensPerMinute: null }, 4, MUCH],
  [{ requestsPerMinute: null, callsAtOnce: 5, tokensPerMinute: null }, 6, SOME],
  [{ requestsPerMinute: null, callsAtOnce: 4, tokensPerMinute: null }, 4, MUCH],
])(
  `the quota %j over %i edges is never exceeded with %j; seed ${SEED}`,
  async (quota, edges, trouble) => {
    const model = new QuotaModel({ random: new SeededRandom(SEED + edges), quota, edges, trouble });
    for (let round = 0; round < ROUNDS; round += 1) await model.round(round % 80 < 40 ? 0.5 : 0.05);
    const { requestsPerMinute, callsAtOnce } = quota;
    expect(model.most.calls).toBeLessThanOrEqual(callsAtOnce);
    expect(model.most.requests).toBeLessThanOrEqual(requestsPerMinute ?? Infinity);
    // Demand is above the quotas, and most of one quota is used.
    expect(model.total.last).toBeGreaterThan(0);
    const used = [model.most.calls / callsAtOnce, model.most.requests / (requestsPerMinute ?? Infinity)];
    expect(Math.max(...used)).toBeGreaterThan(0.8);
  },
  120_000,
);
