import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testSeed } from '@gateway/testkit/seed';
import { PATIENT } from '../../test/own-system.js';
import { checkEvidence } from '../evidence/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { FAULTS_MIX } from '../load/call-plan.js';
import { judgeExactness, judgeOutage, measureOutage } from './judge-outage.js';
import { callsOf, OUTAGE_TOPOLOGY, stopBilling } from './outage.js';

/** `npm run verify:faults -- outage` stops billing for an hour. */
const SECONDS = 30;
const SEED = testSeed();
const output: string[] = [];
const OUTAGE_MS = SECONDS * 1_000;
const CALLS_PER_SECOND = 20;

let run: FaultRun;
beforeAll(async () => {
  run = await FaultRun.begin('outage', callsOf(OUTAGE_MS, CALLS_PER_SECOND), { ...OUTAGE_TOPOLOGY, env: PATIENT });
}, 240_000);
afterAll(async () => {
  await run?.end();
}, 60_000);

// Covers billing is down
test(`${SECONDS} s without billing refuse no call and keep limits exact (seed ${SEED})`, async () => {
  const load = run.load(FAULTS_MIX, SEED, CALLS_PER_SECOND);
  const log = (line: string): void => void output.push(line);
  const seen = await stopBilling(run, OUTAGE_MS, log).finally(() => load.stop());
  const evidence = await run.evidence();
  const { violations, counterExample } = checkEvidence(evidence);
  if (violations.length > 0) throw new Error([...violations, counterExample, ...output].join('\n'));
  const measures = measureOutage(seen, evidence);
  expect([...judgeOutage(measures), ...judgeExactness(evidence)]).toEqual([]);
  console.info(`${measures.offered} calls were offered, ${measures.answered} had a response`);
  // Checks that the outage was meaningful: holds waited for billing, and a limit was used up.
  expect(measures.held).toBeGreaterThan(SECONDS * 5);
  const { downAt, backAt } = seen;
  const isDuring = (at: number): boolean => at >= downAt && at < backAt;
  const refused = evidence.calls.filter(({ status, begunAt }) => status === 402 && isDuring(begunAt));
  expect(refused.length).toBeGreaterThan(0);
}, 240_000);
