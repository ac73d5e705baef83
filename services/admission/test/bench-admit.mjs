// What a warm decision costs: CPU of admission and of Redis, and round trips, for a wallet-funded call (admit, then
// release). Needs `npx tsc -b services/admission`; run with `node services/admission/test/bench-admit.mjs [seconds]`.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { startServers } from '@gateway/servers';
import { Redis } from 'ioredis';
import { RedisClock } from '../dist/adapters/redis-clock.js';
import { RedisGate } from '../dist/adapters/redis-gate.js';
import { Admission } from '../dist/admission.js';
import { buildCatalogView } from '../dist/domain/catalog-view.js';

const SECONDS = Number(process.argv[2] ?? 3);
const ACCOUNTS = 1_000;
const DIGITS = 64;
const silent = { debug() {}, info() {}, warn: console.warn, error: console.error };

const figures = {
  inputPerMillion: 3_000_000_000,
  cachedInputPerMillion: 300_000_000,
  cacheWritePerMillion: 3_750_000_000,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 15_000_000_000,
  perCall: 0,
  tiers: [],
};
const model = {
  v: 1,
  id: 'acme/large',
  displayName: 'Large',
  active: true,
  available: true,
  kind: 'chat',
  contextLength: null,
  maxOutputTokens: null,
  bytesPerToken: 3,
  createdAt: 0,
  prices: [{ version: 'p1', effectiveFrom: 0, figures }],
};
const source = { id: 's1', model: 'acme/large', enabled: true, endpoints: ['/v1/chat/completions'] };
const terms = {
  plan: null,
  requestsPerMinute: 1_000_000_000,
  concurrency: 1_000_000,
  models: [],
  windows: [],
  allotments: [],
  subscription: null,
};
const accountOf = (digest) => `acct_${Number.parseInt(digest, 16)}`;
const digestOf = (number) => number.toString(16).padStart(DIGITS, '0');
const owners = {
  find: async ([digest]) => ({ account: accountOf(digest), key: `key_${accountOf(digest)}`, digest }),
  loadAccount: async (account, key) => ({
    account: { account, state: 'active', version: 1 },
    key: key && {
      account,
      key,
      member: `member_${account}`,
      kind: 'api',
      digest: digestOf(Number(account.slice(5))),
      state: 'active',
      expiresAt: null,
      capNanoUsd: null,
      allowedModels: null,
      version: 1,
    },
    member: { account, member: `member_${account}`, capNanoUsd: null, version: 1 },
  }),
  loadStanding: async ({ account, ids }) => ({
    incarnation: 'l1',
    standing: {
      account,
      rows: [{ name: 'wallet', value: 8_000_000_000_000_000, version: 1 }],
      terms: { value: terms, version: 1 },
      closed: ids,
    },
    caughtUpTo: Date.now(),
  }),
};

const directory = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
const { redis } = await startServers(['redis'], { stateDirectory: directory, env: {}, durable: false });
const clock = new RedisClock();
const gate = new RedisGate(redis.url, clock, silent);
let pipelines = 0;
const run = gate.run.bind(gate);
gate.run = (calls) => ((pipelines += 1), run(calls));
gate.open();
const side = new Redis(redis.url);
const view = buildCatalogView([model], [source]);
const admission = new Admission({
  gate,
  clock,
  owners,
  edges: { lastBeats: async () => [], verdict() {}, report() {} },
  journal: { store: async () => {} },
  listeners: { keysUsed: () => true },
  catalog: { view: () => view },
  brakes: { engaged: () => null },
  log: silent,
  durations: { leaseMs: 30_000, expiryMs: 120_000, sweepMs: 1_000 },
  replica: 'bench',
});
while (!gate.usable()) await new Promise((resolve) => setTimeout(resolve, 5));
await admission.sweep();
while (admission.bucketsPending() > 0) await new Promise((resolve) => setTimeout(resolve, 5));

async function turn(size, next) {
  const admits = Array.from({ length: size }, () => ({
    id: makeUuidV7(clock.now()),
    digests: [digestOf(next())],
    endpoint: '/v1/chat/completions',
    model: 'acme/large',
    bounds: { promptBytes: 1_000, arrayElements: 0, attachments: 0, outputTokensMax: 1_000 },
    bodyRefusal: null,
    opened: false,
    traceparent: undefined,
  }));
  const answers = [];
  await admission.batch({ edge: 'edge1', opens: [], admits, releases: [] }, (reply) => answers.push(...reply.answers));
  const releases = answers.map((answer) => {
    if (answer.kind !== 'admitted') throw new Error(JSON.stringify(answer));
    return { blind: false, id: answer.id, hold: answer.hold, tag: answer.token, outcome: 'void', amountNanoUsd: 0 };
  });
  await admission.batch({ edge: 'edge1', opens: [], admits: [], releases }, () => {});
}

const redisCpu = async () => {
  const facts = await side.info('cpu');
  const read = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(facts)[1]);
  return (read('used_cpu_user') + read('used_cpu_sys')) * 1e6;
};
// The machine as it is now: 0.7 µs on a quiet one (performance page).
const hashed = performance.now();
for (let index = 0; index < 200_000; index += 1) createHash('sha256').update('a digest of this length, or so').digest();
console.log(JSON.stringify({ sha256Micros: +((performance.now() - hashed) / 200).toFixed(2) }));
let account = 0;
for (let warm = 0; warm < 4 * ACCOUNTS; warm += 100) await turn(100, () => account++ % ACCOUNTS);

for (const size of [1, 4, 16, 64]) {
  const cpu = process.cpuUsage();
  const before = await redisCpu();
  pipelines = 0;
  const startedAt = performance.now();
  let calls = 0;
  while (performance.now() - startedAt < SECONDS * 1_000) {
    await turn(size, () => account++ % ACCOUNTS);
    calls += size;
  }
  const used = process.cpuUsage(cpu);
  const line = {
    batch: size,
    calls,
    callsPerSecond: Math.round((calls / (performance.now() - startedAt)) * 1_000),
    admissionCpuMicros: +((used.user + used.system) / calls).toFixed(1),
    redisCpuMicros: +(((await redisCpu()) - before) / calls).toFixed(1),
    roundTripsPerCall: +(pipelines / calls).toFixed(3),
  };
  console.log(JSON.stringify(line));
}
const stats = await side.info('commandstats');
console.log(
  stats
    .split('\n')
    .filter((line) => /evalsha/.test(line))
    .join('\n'),
);
side.disconnect();
await admission.stop();
gate.close();
await redis.stop();
await rm(directory, { recursive: true, force: true });
