import type { SlotView } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import type { RunningHold } from '../domain/slot-scripts.js';

/** A running call as operators see it. One without a slot has no lease. */
export function slotViewOf({ account, id, hold, template }: RunningHold): SlotView {
  return {
    requestId: id,
    accountId: account,
    keyId: template.key,
    memberId: template.member,
    modelId: template.model,
    edge: hold.edge,
    state: hold.state === 'open' ? 'open' : 'expiring',
    takesSlot: hold.slot,
    heldUsd: formatUsd(BigInt(hold.walletMax ?? hold.worst)),
    admittedAt: timeText(hold.admittedAt),
    leaseUntil: hold.slot ? timeText(hold.lease) : null,
    dueAt: timeText(hold.due),
  };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
