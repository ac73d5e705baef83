import type { ManagementRefusal, OperatorErrorCode } from '@gateway/contracts/operator';

/** A refusal that is made at the door, in the form of those that come over the bus. */
export function refuse(code: OperatorErrorCode, message: string, param: string | null = null): ManagementRefusal {
  return { refused: { code, message, param } };
}

export function isRefusal(value: object): value is ManagementRefusal {
  return 'refused' in value;
}
