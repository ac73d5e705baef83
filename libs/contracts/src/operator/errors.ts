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
  /** The gateway made a mistake: the same request fails again until somebody mends it. */
  internal_error: 500,
  not_in_force: 503,
  dependency_unavailable: 503,
} as const;
export type OperatorErrorCode = keyof typeof OPERATOR_ERRORS;

/**
 * A refusal of a management verb: a value that travels over the bus and becomes an answer of an
 * API.
 */
export const managementRefusal = z.object({
  refused: z.object({
    code: z.enum(Object.keys(OPERATOR_ERRORS) as [OperatorErrorCode, ...OperatorErrorCode[]]),
    message: z.string(),
    param: z.string().nullable(),
  }),
});
export type ManagementRefusal = z.infer<typeof managementRefusal>;

/**
 * A refusal as its asker gets it. The text reaches people: it names no credential and no inner
 * detail.
 */
export function refuse(code: OperatorErrorCode, message: string, param: string | null = null): ManagementRefusal {
  return { refused: { code, message, param } };
}

/** Tells an answer of a verb from its refusal: no answer has a field of this name. */
export function isRefusal(value: unknown): value is ManagementRefusal {
  return typeof value === 'object' && value !== null && 'refused' in value;
}

/**
 * The change is committed and will be in force, but admission did not take it in time
 * (docs/protocol.md#r10).
 */
export function notInForce(): ManagementRefusal {
  return refuse('not_in_force', 'the change is written and will be in force as soon as admission answers');
}
