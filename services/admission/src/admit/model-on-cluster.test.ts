import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FrozenRedis } from '../../test/model/frozen-limit-store.js';
import { playSequences, replayFrom } from '../../test/model/play-sequences.js';
import { startTestCluster } from '../../test/model/test-cluster.js';
import type { TestCluster } from '../../test/model/test-cluster.js';
import { ClusterServers } from '../../test/model/wires.js';

const SEQUENCES = 48;
const START_MS = 60_000;
const TIMEOUT_MS = 240_000;
const REPLAY = replayFrom(process.env);

let cluster: TestCluster;
let servers: ClusterServers;
let redis: FrozenRedis;

beforeAll(async () => {
  cluster = await startTestCluster();
  servers = new ClusterServers(cluster.ports);
  redis = new FrozenRedis(servers);
  await redis.open();
}, START_MS);
afterAll(async () => {
  redis?.close();
  await cluster?.stop();
});

test(
  `scripts run on three cluster servers by bucket slot, seed ${REPLAY.seed}`,
  async () => {
    await playSequences(redis, SEQUENCES, REPLAY);
    const runs = await servers.scriptsRun();
    expect(runs).toHaveLength(3);
    expect(Math.min(...runs)).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
