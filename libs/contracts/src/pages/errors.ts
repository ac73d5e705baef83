import { z } from 'zod';
import { OPERATOR_ERRORS } from '../operator/errors.js';

/**
 * Error codes of the pages' API with their statuses: those of the operator API, and those of people
 * who sign in.
 */
export const PAGE_ERRORS = {
  ...OPERATOR_ERRORS,
  /** No session, or one that has ended. */
  not_signed_in: 401,
  /** The header `x-csrf-token` or `Origin` is not that of the session's own pages. */
  csrf: 403,
  /** The role in the account does not allow it. */
  forbidden: 403,
  /** Address and password do not belong together; which of them is wrong is never said. */
  invalid_credentials: 401,
  /** A token of a mail that is unknown, used or too old; never said which. */
  token_invalid: 400,
} as const;
export type PageErrorCode = keyof typeof PAGE_ERRORS;

/** The body of every answer below `/api` that is not a success. */
export const pageError = z.object({
  error: z.object({
    code: z.enum(Object.keys(PAGE_ERRORS) as [PageErrorCode, ...PageErrorCode[]]),
    message: z.string(),
    /** The field, parameter or header that is at fault. */
    param: z.string().nullable(),
    /** Also in the header `x-gateway-request-id`, and in the log. */
    request_id: z.string(),
  }),
});
export type PageError = z.infer<typeof pageError>;
