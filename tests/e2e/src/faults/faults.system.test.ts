import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ProcessName } from '@gateway/local';
import { parseUsd } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { testSeed } from '@gateway/testkit/seed';
import { HELLO, chat, get } from '../../test/call.js';
import { connectRedis, isEmpty, readLimitStore } from '../../test/limit-store.js';
import { PRICES } from '../../test/prices.js';
import { FaultRun } from './fault-run.js';
import { SeededRandom } from '@gateway/testkit/random';
import { checkEvidence } from '../evidence/check-evidence.js';
import { FAULT_CODES, RECOVERY_MS, isFaultAnswer, losesLimitStore } from '../evidence/judge-call.js';
import { FAULTS_MIX } from '../load/call-plan.js';
import { planFaults, targetsOf } from './fault-plan.js';
import { causeFaults } from './faults.js';

/**
 * `npm run verify:faults -- faults` sends fifty times as many requests and causes a hundred faults.
 */
const CALLS = 2_000;
/** Each of these processes is killed once under load, independently of the seed. */
const KILLED = ['edge-proxy-1', 'admission-1', 'billing-1', 'catalog-1'].map((target) => ({
  what: 'kill' as const,
  target,
  forMs: 0,
  delayMs: 0,
}));
const FAULTS = 10;
const SEED = testSeed();
/**
 * Time from a loss of the limit store until both edges serve, on a busy machine. Recovery waits up
 * to 12 s for a silent edge (docs/protocol.md#r12).
 */
const LIMIT_STORE_MS_MAX = 25_000;
/** Timeout for stopping catalog. */
const STOP_MS = 10_000;

let run: FaultRun;
beforeAll(async () => {
  run = await FaultRun.begin('faults', CALLS);
}, 240_000);
afterAll(async () => {
  await run?.end();
}, 60_000);

// Covers i2; i7; an edge is killed
test(`${CALLS} calls under kills and random faults have no violation (seed ${SEED})`, async () => {
  const output: string[] = [];
  const log = (line: string): void => void output.push(line);
  const targets = targetsOf(run.system.local, run.links);
  const planned = [...KILLED, ...planFaults(FAULTS, targets, new SeededRandom(SEED))];
  const load = run.load(FAULTS_MIX, SEED);
  await causeFaults(run, planned, CALLS, log).finally(() => load.stop());
  const evidence = await run.evidence();
  const { violations, counterExample } = checkEvidence(evidence);
  if (violations.length > 0) throw new Error([...violations, counterExample, ...output].join('\n'));
  console.info(`${evidence.calls.filter(isFaultAnswer).length} responses with 500 because of the faults`);
  expect(evidence.faults).toHaveLength(KILLED.length + FAULTS);
  // The plan contains each kind of fault, so the limit store was lost at least once.
  const losses = evidence.faults.filter(losesLimitStore).map(({ from, until: over }) => over - from);
  expect(losses.length).toBeGreaterThan(0);
  expect(Math.max(...losses)).toBeLessThan(LIMIT_STORE_MS_MAX);
  expect(evidence.calls.length).toBeGreaterThanOrEqual(CALLS);
  // Checks that the run was meaningful: most requests were sent, and each kind of ending occurred.
  const endings = new Set(evidence.calls.map(({ ending }) => ending));
  expect([...endings].sort()).toEqual(['cut', 'left', 'refused', 'whole']);
  expect(evidence.records.filter(({ outcome }) => outcome === 'settled').length).toBeGreaterThan(CALLS / 3);
}, 300_000);

// Covers catalog is down
test('edges and admissions that start without catalog use the published catalog', async () => {
  const { local, operator } = run.system;
  const { account, secret } = await operator.account('1000.00');
  const { edgeUrls, providerUrls } = local.running();
  const model = await operator.model(PRICES, providerUrls);
  const callEveryEdge = async (): Promise<void> => {
    for (const url of edgeUrls) {
      const body = { model: model.id, messages: HELLO };
      const answer = await chat(`${url}/v1/chat/completions`, secret, body);
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"usage"')]);
      const { record } = await operator.record(answer.requestId);
      expect([record.outcome, record.evidence]).toEqual(['settled', 'reported']);
      expect(parseUsd(record.chargedUsd)).toBeGreaterThan(0n);
      const listed = JSON.parse((await get(`${url}/v1/models`, secret)).text) as { data: { id: string }[] };
      expect(listed.data.map(({ id }) => id)).toContain(model.id);
    }
  };
  await until('both edges know the model', async () => {
    const lists = await Promise.all(edgeUrls.map((url) => get(`${url}/v1/models`, secret)));
    return lists.every(({ text }) => text.includes(model.id));
  });
  const [catalog] = local.children('catalog');
  await catalog?.stop(STOP_MS);
  expect(catalog?.pid).toBeNull();
  await callEveryEdge();
  await Promise.all([killFirst('edge-proxy'), killFirst('admission')]);
  let undecided = 0;
  await until(
    'both edges serve after the kills',
    async () => {
      const body = { model: model.id, messages: HELLO };
      const answers = await Promise.all(edgeUrls.map((url) => chat(`${url}/v1/chat/completions`, secret, body)));
      const failed = answers.filter(({ status }) => status !== 200);
      for (const { status, text } of failed) expect([status, text]).toEqual([500, expect.stringMatching(FAULT_CODES)]);
      undecided += failed.length;
      return failed.length === 0;
    },
    RECOVERY_MS,
  );
  console.info(`${undecided} responses with 500 after the kills`);
  await callEveryEdge();
  expect(catalog?.pid).toBeNull();

  await catalog?.start();
  const next = await operator.model(PRICES, providerUrls);
  await until('a new model is served', async () => {
    const body = { model: next.id, messages: HELLO };
    return (await chat(`${edgeUrls[0]}/v1/chat/completions`, secret, body)).status === 200;
  });
  const redis = connectRedis(local.servers.redis.url);
  await until('slots and holds are gone', async () => isEmpty(await readLimitStore(redis, account)), 30_000);
  redis.disconnect();
}, 120_000);

/** Kills the first process of a service and waits until its replacement is ready. */
async function killFirst(name: ProcessName): Promise<void> {
  const [victim] = run.system.local.children(name);
  const pid = victim?.pid;
  victim?.kill('SIGKILL');
  await until(`${name} has restarted`, () => victim?.pid != null && victim.pid !== pid, 30_000);
  await victim?.ready();
}
