import { isRefusal } from '@gateway/contracts/operator';
import type { PageErrorCode } from '@gateway/contracts/pages';

/** A refusal as the pages get it; those of the services have the same form. */
export interface PageRefusal {
  readonly refused: { readonly code: PageErrorCode; readonly message: string; readonly param: string | null };
  /** Sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
}

export function refusePage(code: PageErrorCode, message: string, param: string | null = null): PageRefusal {
  return { refused: { code, message, param } };
}

/** `isRefusal` for answers of the pages, whose refusals have more codes. */
export function isPageRefusal(value: object): value is PageRefusal {
  return isRefusal(value);
}

export function tooManyAttempts(retryAfterSeconds: number): PageRefusal {
  return { ...refusePage('too_many_attempts', 'too many attempts; wait before the next one'), retryAfterSeconds };
}

/** Hashing is bounded: whoever finds the queue full comes again. */
export function busy(): PageRefusal {
  return { ...refusePage('dependency_unavailable', 'too many requests at this moment'), retryAfterSeconds: 1 };
}
