import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testSeed } from '@gateway/testkit/seed';
import { StallWitness } from '../test/stall-witness.js';
import { FaultRun } from './faults/fault-run.js';
import { judgeExactness, judgeOutage } from './outage/judge-outage.js';
import { measureOutage } from './outage/measure-outage.js';
import { callsOf, runOutage } from './outage/run-outage.js';

/** `npm run prove:outage` stops billing for an hour. */
const SECONDS = 30;
const SEED = testSeed();
const output: string[] = [];
const OPTIONS = { outageMs: SECONDS * 1_000, callsPerSecond: 20, seed: SEED, log: (line: string) => output.push(line) };

let run: FaultRun;
let witness: StallWitness;
beforeAll(async () => {
  run = await FaultRun.begin('outage', callsOf(OPTIONS), { isLinked: false });
  witness = new StallWitness(run.system.local.servers.redis.url);
}, 240_000);
afterAll(async () => {
  await witness?.stop();
  await run?.end();
}, 60_000);

// Covers billing is down
test(`${SECONDS} s without billing refuse no call and keep limits exact (seed ${SEED})`, async () => {
  const figures = await runOutage(run, OPTIONS);
  const { violations, counterExample } = figures.check;
  if (violations.length > 0) throw new Error([...violations, counterExample, ...output].join('\n'));
  const calls = figures.evidence.calls.filter((call) => !witness.excuses({ ...call, text: call.code ?? '' }));
  const measures = measureOutage({ ...figures, evidence: { ...figures.evidence, calls } });
  expect([...judgeOutage(measures, figures.samples), ...judgeExactness(figures.evidence)]).toEqual([]);
  // Checks that the outage was meaningful: holds waited for billing, and a limit was used up.
  expect(measures.held).toBeGreaterThan(SECONDS * 5);
  const { evidence, downAt, backAt } = figures;
  const isDuring = (at: number): boolean => at >= downAt && at < backAt;
  const refused = evidence.calls.filter(({ status, begunAt }) => status === 402 && isDuring(begunAt));
  expect(refused.length).toBeGreaterThan(0);
}, 240_000);
