import type { World } from '../hosts/world.js';
import type { Fault, Scenario } from '../scenario/scenario.js';
import { GONE_MS } from '../scenario/run-kinds.js';
import type { CallTruth, Refusal } from './truth.js';

/** Hosts whose outage stops heartbeats from being processed. */
const LISTENING: ReadonlySet<string> = new Set(['redis', 'bus', 'heartbeats']);
/** After this time no superseded limit store is used and all buckets are open. */
const CALM_MS = 6_000;
const FAULT_FROM = 500;
/** The longest restore of a bucket: an edge may be unable to report its epoch. */
const RESTORING_MS = 12_000;

/**
 * Checks that every running call keeps its open hold and its slot while heartbeats are not
 * processed and nothing else goes wrong (docs/protocol.md#r9). Not checked if only heartbeats are
 * not received: then a call may lose its slot.
 */
export function checkHeldInSilence({ truth, scenario, server }: World): void {
  const isDeaf = scenario.faults.some((fault) => fault.kind === 'cut' && fault.host === 'heartbeats');
  if (!isSilence(scenario) || isDeaf) return;
  for (const { id, account, hold, isRunning } of truth.calls) {
    if (!isRunning || hold === null) continue;
    const kept = server.holds(account).find((one) => one.id === id);
    if (kept?.state !== 'open' || !kept.slot)
      truth.broke('running calls keep hold and slot during silence', `${id} has ${JSON.stringify(kept)}`);
  }
}

/** Checks that no running call was recorded as expired. */
export function checkNotExpiredInSilence({ truth, scenario }: World): void {
  if (!isSilence(scenario)) return;
  for (const { id, settledLate } of truth.calls)
    if (settledLate) truth.broke('running calls keep hold and slot during silence', `${id} expired while it ran`);
}

function isSilence({ faults }: Scenario): boolean {
  const stopsHeartbeats = (fault: Fault): boolean =>
    fault.kind === 'away' || ((fault.kind === 'cut' || fault.kind === 'hang') && LISTENING.has(fault.host));
  return faults.length > 0 && faults.every(stopsHeartbeats);
}

/**
 * Checks that calls are answered after a superseded limit store has ended (docs/protocol.md#r12),
 * and after the restore of a limit store that was emptied while no replica ran. Applies only if
 * nothing else goes wrong, or the bus is away once before that.
 */
export function checkAnsweredAfterFailover({ truth, time, scenario }: World): void {
  const endsAt = findFaultEnd(scenario.faults);
  if (endsAt === null) return;
  const calmFrom = time.startedAt + endsAt + CALM_MS;
  for (const { client } of truth.calls) {
    if (client.begunAt >= calmFrom && (client.seen.status ?? 0) >= FAULT_FROM)
      truth.broke('calls are answered after a failover', `${client.id} got ${client.seen.status}`);
  }
}

/** Time when the fault of the limit store ended, ms from the start. Null if it is unknown. */
function findFaultEnd([first, ...others]: readonly Fault[]): number | null {
  if (first?.kind === 'away' && others.every((fault) => fault.kind === 'limit-store' && fault.how === 'flush'))
    return first.at + first.ms + RESTORING_MS;
  if (first?.kind !== 'failover') return null;
  const endsAt = first.at + first.ms;
  return others.every((fault) => fault.kind === 'cut' && fault.at + fault.ms <= endsAt) ? endsAt : null;
}

/**
 * Checks that calls of an edge that is long gone do not cause refusals, even after a loss of the
 * limit store (docs/protocol.md#r12). Applies only to runs with an `edge-killed` fault: nothing
 * else there uses the account's slots.
 */
export function checkGoneEdge({ truth, time, scenario }: World, call: CallTruth, { code }: Refusal): void {
  const killed = scenario.faults.find((fault) => fault.kind === 'edge-killed');
  if (killed !== undefined && time.now - time.startedAt > killed.at + GONE_MS)
    truth.broke('calls of a gone edge cause no refusals', `${call.client.id} by ${code}`);
}

/**
 * Checks that a client's own ended calls do not cause a refusal (docs/protocol.md#r4). If a call is
 * refused for lack of a slot, at least as many other calls of its account were running as there are
 * slots. If it is refused for lack of money, the wallet less the charges does not cover it. Applies
 * only if clients call one at a time and nothing goes wrong: a lost release keeps its slot for a
 * while.
 */
export function checkOwnHold({ truth, scenario }: World, call: CallTruth, { code, facts }: Refusal): void {
  if (scenario.faults.length > 0 || scenario.acts.some(({ kind }) => kind !== 'series')) return;
  const others = truth.calls.filter((other) => other !== call && other.account === call.account);
  const running = others.filter(({ client }) => (client.seen.endedAt ?? Infinity) > call.client.begunAt).length;
  if (code === 'concurrency_limit' && running < (facts.limit ?? 0))
    truth.broke('no client is refused for its own slot', `${call.id}: ${running} others run, ${facts.limit} slots`);
  if (code !== 'insufficient_credits' || running > 0) return;
  const charged = others.reduce((sum, { event }) => sum + (event?.amountNanoUsd ?? 0), 0);
  const funds = truth.entries.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0);
  if (funds - charged < (facts.worst ?? 0)) return;
  truth.broke('no client is refused for its own worst case', `${call.id}: ${funds} less ${charged} for ${facts.worst}`);
}
