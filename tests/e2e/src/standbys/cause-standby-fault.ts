import { until } from '@gateway/testkit';
import type { FaultLoad } from '../load/loads.js';
import type { FaultRun } from '../faults/fault-run.js';
import { isRefusedBy } from '../evidence/judge-call.js';
import { allBack } from './members.js';
import type { StandbyFault } from './standby-faults.js';

/** Effect of one fault on the calls. */
export interface FaultCost {
  readonly fault: string;
  /** Time from the first to the last call that the fault refused or broke; 0 if there was none. */
  readonly refusedMs: number;
  readonly refused: number;
  /**
   * Time until both edges and the operator API serve again, even if a killed server does not run
   * yet.
   */
  readonly servedMs: number;
}

const CALLS_WITHIN_MS = 120_000;
const OPERATORS_WITHIN_MS = 60_000;

/**
 * Waits for `callsBefore` calls and causes the fault. Resolves when the whole system serves again.
 */
export async function causeStandbyFault(
  run: FaultRun,
  load: FaultLoad,
  fault: StandbyFault,
  callsBefore: number,
): Promise<FaultCost> {
  const due = load.seen.length + callsBefore;
  await until(`${due} calls have ended`, () => load.seen.length >= due, CALLS_WITHIN_MS);
  const done = await run.causeAs(fault.as, () => fault.cause(run), load);
  await until('the operator API responds', () => isOperatorApiServing(run), OPERATORS_WITHIN_MS);
  const servedMs = Date.now() - done.from;
  await allBack(run);
  const refused = load.seen.filter((call) => isRefusedBy(done, call));
  const times = refused.flatMap(({ begunAt, endedAt }) => [begunAt, endedAt]);
  const refusedMs = refused.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
  return { fault: fault.name, refusedMs, refused: refused.length, servedMs };
}

/** Whether the operator API returns a list. */
export async function isOperatorApiServing(run: FaultRun): Promise<boolean> {
  const { operatorUrl, operatorToken } = run.system.local.running();
  const headers = { authorization: `Bearer ${operatorToken}` };
  const answer = await fetch(`${operatorUrl}/accounts`, { headers, signal: AbortSignal.timeout(OPERATORS_WITHIN_MS) });
  return answer.status === 200;
}
