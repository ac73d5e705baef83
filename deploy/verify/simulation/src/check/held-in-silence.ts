import { readHold } from '@gateway/admission/limit-store/hold-rules.js';
import { bucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import type { World } from '../hosts/world.js';
import type { Fault, Scenario } from '../scenario/scenario.js';

/** Whose absence keeps somebody from listening. */
const LISTENING: ReadonlySet<string> = new Set(['redis', 'bus', 'heartbeats']);

/**
 * Where nothing goes wrong but that nobody listens for a while, every call that runs keeps its hold
 * open with its slot (docs/protocol.md#r9). While its heartbeats alone are not taken it may lose
 * the slot.
 */
export function heldInSilence({ truth, scenario, server }: World): void {
  if (!isSilence(scenario) || scenario.faults.some(isDeafness)) return;
  for (const { id, account, hold, dispatchedAt, released, event, edge } of truth.calls) {
    const runs = dispatchedAt !== null && released === null && event === null && edge.host.isAlive;
    if (!runs || id === null || hold === null) continue;
    const text = server.hash(bucketKeys(bucketOfAccount(account)).holds + account)[id];
    const kept = text === undefined ? null : readHold(text);
    if (kept?.state !== 'open' || !kept.slot)
      truth.broke('silence takes nothing from a call that runs', `${id} has ${text}`);
  }
}

/** Nor is a call that ran recorded as expired. */
export function expiredInSilence({ truth, scenario }: World): void {
  if (!isSilence(scenario)) return;
  for (const { id, settledLate } of truth.calls)
    if (settledLate) truth.broke('silence takes nothing from a call that runs', `${id} expired while it ran`);
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
