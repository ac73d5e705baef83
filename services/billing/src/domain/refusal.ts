import type { ManagementRefusal, OperatorErrorCode } from '@gateway/contracts/operator';

/** A refusal of a management request: a value, not a fault. */
export function refusal(code: OperatorErrorCode, message: string, param: string | null): ManagementRefusal {
  return { refused: { code, message, param } };
}

export function isRefusal(value: object): value is ManagementRefusal {
  return 'refused' in value;
}

/** The change is committed and the outbox goes on, but admission did not answer in time (rule 10). */
export function notInForce(): ManagementRefusal {
  return refusal('not_in_force', 'the change is written and will be in force as soon as admission answers', null);
}
