import { ApiError } from '../api/request.js';

/** Returns the message of an error that names this field. */
export function fieldError(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError) || error.param === null || error.code !== 'invalid_request') return undefined;
  const named = error.param.split(/[.[]/).at(0) === field || error.param === field;
  return named ? error.message : undefined;
}

/** Returns whether an error names none of the fields and must be shown above the form. */
export function isFormError(error: unknown, fields: readonly string[]): boolean {
  return error !== null && error !== undefined && fields.every((field) => fieldError(error, field) === undefined);
}
