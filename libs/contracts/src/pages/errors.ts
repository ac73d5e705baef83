import { z } from 'zod';
import { OPERATOR_ERRORS } from '../operator/errors.js';

/** Error codes and statuses of the pages' API: the operator API's, and those of sign-in. */
export const PAGE_ERRORS = {
  ...OPERATOR_ERRORS,
  /** No session, or an expired one. */
  not_signed_in: 401,
  /** The header `x-csrf-token` or `Origin` does not belong to the session's pages. */
  csrf: 403,
  /** The role in the account does not permit it. */
  forbidden: 403,
  /** Address or password is wrong. The response does not reveal which one. */
  invalid_credentials: 401,
  /** An email token that is unknown, used or expired. The response does not reveal which. */
  token_invalid: 400,
} as const;
export type PageErrorCode = keyof typeof PAGE_ERRORS;

/** The body of all error responses below `/api`. */
export const pageError = z.object({
  error: z.object({
    code: z.enum(Object.keys(PAGE_ERRORS) as [PageErrorCode, ...PageErrorCode[]]),
    message: z.string(),
    /** The field, parameter or header that caused the error. */
    param: z.string().nullable(),
    /** Also in the header `x-gateway-request-id`, and in the log. */
    request_id: z.string(),
  }),
});
export type PageError = z.infer<typeof pageError>;
