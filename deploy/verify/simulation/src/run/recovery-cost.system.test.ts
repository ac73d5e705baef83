import { beforeAll, expect, test } from '@jest/globals';
import type { LuaRedis } from '../limit-store/lua-redis.js';
import type { HeartbeatTraffic } from '../network/streams.js';
import { makeLoss, type LossSize } from '../scenario/make-loss.js';
import { openRedis } from './open-redis.js';
import { play } from './play.js';

const TEST_MS = 600_000;
const SIZE: LossSize = { admissions: 2, edges: 2, calls: 20 };

let redis: LuaRedis;
beforeAll(async () => {
  redis = await openRedis();
});

/** What a loss of the limit store adds to the traffic of a run. */
async function costOf(size: LossSize): Promise<HeartbeatTraffic> {
  const [usual, lost] = [await play(makeLoss(size, false), redis), await play(makeLoss(size, true), redis)];
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

test(
  'a recovery that waits for an edge costs as much again for each replica',
  async () => {
    const one = await costOf({ ...SIZE, admissions: 1 });
    const five = await costOf({ ...SIZE, admissions: 5 });
    expect(one.requests).toBeGreaterThan(20);
    for (const figure of ['requests', 'stored', 'storedBytes', 'readBytes'] as const)
      expect(five[figure]).toBeGreaterThan(4 * one[figure]);
  },
  TEST_MS,
);
