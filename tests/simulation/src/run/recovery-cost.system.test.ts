import { beforeAll, expect, test } from '@jest/globals';
import { LuaRedis } from '../limit-store/lua-redis.js';
import type { HeartbeatTraffic } from '../network/streams.js';
import { makeLoss, type LossSize } from '../scenario/run-kinds.js';
import { play } from './play.js';

const TEST_MS = 600_000;
/**
 * Messages that the stream keeps per edge: a full heartbeat, a short one, and the calls that short
 * ones list.
 */
const PLACES = 3;
/**
 * In about half of the seeds an edge stores one more full heartbeat. The first test limits their
 * number. The second compares the seeds with the fewest bytes.
 */
const SEEDS = [1, 2, 3, 4, 5, 6];
const SIZE: LossSize = { admissions: 2, edges: 2, calls: 20 };

let redis: LuaRedis;
beforeAll(async () => {
  redis = await LuaRedis.open();
});

/** Returns the traffic that a loss of the limit store adds to a run. */
async function costOf(size: LossSize, seed = 1): Promise<HeartbeatTraffic> {
  const usual = await play(makeLoss(size, false, seed), redis);
  const lost = await play(makeLoss(size, true, seed), redis);
  expect([...usual.violations, ...lost.violations]).toEqual([]);
  const { traffic } = usual;
  return {
    stored: lost.traffic.stored - traffic.stored,
    storedBytes: lost.traffic.storedBytes - traffic.storedBytes,
    read: lost.traffic.read - traffic.read,
    readBytes: lost.traffic.readBytes - traffic.readBytes,
    requests: lost.traffic.requests - traffic.requests,
  };
}

async function leastCostOf(size: LossSize): Promise<HeartbeatTraffic> {
  const costs: HeartbeatTraffic[] = [];
  for (const seed of SEEDS) costs.push(await costOf(size, seed));
  return costs.reduce((least, cost) => (cost.storedBytes < least.storedBytes ? cost : least));
}

test(
  'a recovery that waits for an edge costs the same with any replica count',
  async () => {
    const one = await costOf({ ...SIZE, admissions: 1 });
    const five = await costOf({ ...SIZE, admissions: 5 });
    expect(one.requests).toBeGreaterThan(20);
    expect(five.requests).toBeLessThan(1.2 * one.requests);
    for (const { stored, read } of [one, five]) {
      // Two messages per edge. The edge that hangs sends its two when it continues.
      expect(stored).toBeLessThanOrEqual(2 * SIZE.edges);
      // Reads of all edges: before the resync request, when they have answered, and when one edge
      // is no longer waited for.
      expect(read).toBeLessThanOrEqual(4 * PLACES * SIZE.edges);
    }
  },
  TEST_MS,
);

test(
  'the cost grows only with the calls that edges run',
  async () => {
    const few = await leastCostOf(SIZE);
    const many = await leastCostOf({ ...SIZE, edges: 4, calls: 60 });
    expect(many.storedBytes).toBeLessThan(8 * few.storedBytes);
    expect(many.readBytes).toBeLessThan(8 * few.readBytes);
  },
  TEST_MS,
);
