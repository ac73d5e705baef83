import { readHold } from '@gateway/admission/limit-store/hold-rules.js';
import { findBucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import type { World } from '../hosts/world.js';
import type { Fault, Scenario } from '../scenario/scenario.js';

/** Hosts whose outage stops heartbeats from being processed. */
const LISTENING: ReadonlySet<string> = new Set(['redis', 'bus', 'heartbeats']);

/**
 * Checks that every running call keeps its open hold and its slot while heartbeats are not
 * processed and nothing else goes wrong (docs/protocol.md#r9). Not checked if only heartbeats are
 * not received: then a call may lose its slot.
 */
export function checkHeldInSilence({ truth, scenario, server }: World): void {
  if (!isSilence(scenario) || scenario.faults.some(isDeafness)) return;
  for (const { id, account, hold, dispatchedAt, released, event, edge } of truth.calls) {
    const runs = dispatchedAt !== null && released === null && event === null && edge.host.isAlive;
    if (!runs || id === null || hold === null) continue;
    const text = server.hash(findBucketKeys(bucketOfAccount(account)).holds + account)[id];
    const kept = text === undefined ? null : readHold(text);
    if (kept?.state !== 'open' || !kept.slot)
      truth.broke('running calls keep hold and slot during silence', `${id} has ${text}`);
  }
}

/** Checks that no running call was recorded as expired. */
export function checkNotExpiredInSilence({ truth, scenario }: World): void {
  if (!isSilence(scenario)) return;
  for (const { id, settledLate } of truth.calls)
    if (settledLate) truth.broke('running calls keep hold and slot during silence', `${id} expired while it ran`);
}

function isSilence({ faults }: Scenario): boolean {
  return faults.length > 0 && faults.every((fault) => fault.kind === 'away' || isAbsence(fault));
}

function isAbsence(fault: Fault): boolean {
  return (fault.kind === 'cut' || fault.kind === 'hang') && LISTENING.has(fault.host);
}

function isDeafness(fault: Fault): boolean {
  return fault.kind === 'cut' && fault.host === 'heartbeats';
}
