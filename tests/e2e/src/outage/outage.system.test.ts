import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testSeed } from '@gateway/testkit/seed';
import { PATIENT } from '../../test/own-system.js';
import { checkEvidence } from '../evidence/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { judgeExactness, judgeOutage } from './judge-outage.js';
import { measureOutage } from './measure-outage.js';
import { callsOf, OUTAGE_TOPOLOGY, startOutageLoad, stopBilling } from './outage.js';

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
  const load = startOutageLoad(run, { callsPerSecond: CALLS_PER_SECOND, seed: SEED });
  const log = (line: string): void => void output.push(line);
  const seen = await stopBilling(run, load, OUTAGE_MS, log).finally(() => load.stop());
  const evidence = await run.evidence(load);
  const { violations, counterExample } = checkEvidence(evidence);
  if (violations.length > 0) throw new Error([...violations, counterExample, ...output].join('\n'));
  const measures = measureOutage(seen, evidence);
  expect([...judgeOutage(measures, seen.samples), ...judgeExactness(evidence)]).toEqual([]);
  // Checks that the outage was meaningful: holds waited for billing, and a limit was used up.
  expect(measures.held).toBeGreaterThan(SECONDS * 5);
  const { downAt, backAt } = seen;
  const isDuring = (at: number): boolean => at >= downAt && at < backAt;
  const refused = evidence.calls.filter(({ status, begunAt }) => status === 402 && isDuring(begunAt));
  expect(refused.length).toBeGreaterThan(0);
}, 240_000);
