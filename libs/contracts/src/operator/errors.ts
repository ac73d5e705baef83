import { z } from 'zod';

/** The operator API's error codes with their statuses. */
export const OPERATOR_ERRORS = {
  invalid_request: 400,
  invalid_operator_token: 401,
  no_funding: 402,
  operator_forbidden: 403,
  email_not_verified: 403,
  not_found: 404,
  key_limit_reached: 409,
  key_not_active: 409,
  in_use: 409,
  state_conflict: 409,
  idempotency_conflict: 409,
  /** With `Retry-After` in seconds. */
  too_many_attempts: 429,
  /** An error in the gateway. Repeated requests fail until it is fixed. */
  internal_error: 500,
  not_in_force: 503,
  dependency_unavailable: 503,
} as const;
export type OperatorErrorCode = keyof typeof OPERATOR_ERRORS;

/** A refusal of a management request: sent over the bus, and returned by an API. */
export const managementRefusal = z.object({
  refused: z.object({
    code: z.enum(Object.keys(OPERATOR_ERRORS) as [OperatorErrorCode, ...OperatorErrorCode[]]),
    message: z.string(),
    param: z.string().nullable(),
  }),
});
export type ManagementRefusal = z.infer<typeof managementRefusal>;

/** Creates a refusal. Its text must not contain credentials or internal details. */
export function refuse(code: OperatorErrorCode, message: string, param: string | null = null): ManagementRefusal {
  return { refused: { code, message, param } };
}

/** Whether a response is a refusal. No other response has a field `refused`. */
export function isRefusal(value: unknown): value is ManagementRefusal {
  return typeof value === 'object' && value !== null && 'refused' in value;
}

/**
 * The change is committed and will take effect, but admission did not confirm it in time
 * (docs/protocol.md#r10).
 */
export function notInForce(): ManagementRefusal {
  return refuse('not_in_force', 'the change is stored and takes effect as soon as admission responds');
}
