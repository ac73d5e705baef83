import { until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import type { Mix } from './call-plan.js';
import { checkEvidence } from './check-evidence.js';
import type { CheckResult } from './check-evidence.js';
import type { Evidence } from './evidence.js';
import { planFaults } from './fault-plan.js';
import type { PlannedFault } from './fault-plan.js';
import type { FaultRun } from './fault-run.js';

export interface FaultsOptions {
  readonly calls: number;
  /** Faults before the random ones. */
  readonly first?: readonly PlannedFault[];
  readonly faults: number;
  readonly seed: number;
  readonly mix: Mix;
  readonly log: (line: string) => void;
}

/** Results of a run under faults. */
export interface RunUnderFaults {
  readonly evidence: Evidence;
  readonly check: CheckResult;
  /** Duration of the load, without the start and the stop of the system. */
  readonly ms: number;
}

/** Timeout for all calls of a run, and for the calls between two faults. */
const CALLS_WITHIN_MS = 3_600_000;
/**
 * Calls and faults have different random sequences, so that the number of calls does not change the
 * faults.
 */
const CALLS_SEED = 0x5eed;

/** Makes the calls, spreads the faults evenly over them, and checks the evidence. */
export async function runFaults(run: FaultRun, options: FaultsOptions): Promise<RunUnderFaults> {
  const { calls, faults, seed, mix, log } = options;
  const planned = [...(options.first ?? []), ...planFaults(faults, run.targets, new SeededRandom(seed).next)];
  const startedAt = Date.now();
  const load = run.load(mix, new SeededRandom(seed ^ CALLS_SEED).next);
  try {
    for (const [index, fault] of planned.entries()) {
      const due = Math.floor((calls * (index + 1)) / (planned.length + 1));
      await until(`${due} calls have ended`, () => load.seen.length >= due, CALLS_WITHIN_MS);
      const { from, until: over } = await run.suffer(fault, load);
      log(
        `${index + 1} ${fault.what} ${fault.target}: ${over - from} ms until all edges served; ${load.seen.length} calls`,
      );
    }
    await until(`${calls} calls have ended`, () => load.seen.length >= calls, CALLS_WITHIN_MS);
  } finally {
    await load.stop();
  }
  const ms = Date.now() - startedAt;
  log(`${load.seen.length} calls have ended; waiting for running calls`);
  const evidence = await run.evidence(load);
  log('checking');
  return { evidence, check: checkEvidence(evidence), ms };
}

/** @param target a process: `billing-1` */
export function killOf(target: string): PlannedFault {
  return { what: 'kill', target, forMs: 0, delayMs: 0 };
}
