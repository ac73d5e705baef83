import type { PageErrorCode } from '@gateway/contracts/pages';
import { refuseForNow, type Refusal } from '../http/refusals.js';

export function refusePage(code: PageErrorCode, message: string, param: string | null = null): Refusal {
  return { refused: { code, message, param } };
}

export function tooManyAttempts(retryAfterSeconds: number): Refusal {
  return { ...refusePage('too_many_attempts', 'too many attempts; wait before the next one'), retryAfterSeconds };
}

/** Hashing is bounded: a request that finds the queue full comes again. */
export function busy(): Refusal {
  return refuseForNow('too many requests at this moment');
}
