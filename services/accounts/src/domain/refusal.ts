import type { ManagementRefusal, OperatorErrorCode } from '@gateway/contracts/operator';

/** A refusal as its asker gets it. The text reaches people: it names no credential and no inner detail. */
export function refuse(code: OperatorErrorCode, message: string, param: string | null = null): ManagementRefusal {
  return { refused: { code, message, param } };
}

export function isRefusal(value: unknown): value is ManagementRefusal {
  return typeof value === 'object' && value !== null && 'refused' in value;
}

/** The change is committed and will be in force, but admission did not take it in time (money and failure, rule 10). */
export function notInForce(): ManagementRefusal {
  return refuse('not_in_force', 'the change is written and will be in force as soon as admission answers');
}

/** Nothing can be done to a closed account, or made in it, any more. */
export function accountClosed(): ManagementRefusal {
  return refuse('state_conflict', 'the account is closed');
}

/** The same command came for something else before. */
export function commandTaken(): ManagementRefusal {
  return refuse('idempotency_conflict', 'the command belongs to another request');
}
