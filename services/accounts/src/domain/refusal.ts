import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';

/** Nothing can be done to a closed account, or made in it, any more. */
export function accountClosed(): ManagementRefusal {
  return refuse('state_conflict', 'the account is closed');
}

/** The same command came for something else before. */
export function commandTaken(): ManagementRefusal {
  return refuse('idempotency_conflict', 'the command belongs to another request');
}
