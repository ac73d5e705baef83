import type { ManagementRefusal, OperatorErrorCode } from '@gateway/contracts/operator';

/** A refusal as its asker gets it. The text reaches people: it names no credential and no inner detail. */
export function refuse(code: OperatorErrorCode, message: string, param: string | null = null): ManagementRefusal {
  return { refused: { code, message, param } };
}

export function isRefusal(value: object): value is ManagementRefusal {
  return 'refused' in value;
}
