import type { PageErrorCode } from '@gateway/contracts/pages';
import { refuseForNow, type Refusal } from '../http/refusals.js';

export function refusePage(code: PageErrorCode, message: string, param: string | null = null): Refusal {
  return { refused: { code, message, param } };
}

export function tooManyAttempts(retryAfterSeconds: number): Refusal {
  return { ...refusePage('too_many_attempts', 'too many attempts; wait before the next one'), retryAfterSeconds };
}

/** Refuses a request because the queue of password hashes or all places are full. */
export function busy(): Refusal {
  return refuseForNow('too many requests right now; try again shortly');
}
