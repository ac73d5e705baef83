import type { RefusalFacts } from '../messages/call.js';
import { findCatalogueEntry } from './catalogue.js';
import type { ErrorCode } from './catalogue.js';
import type { ErrorContext, RefusalEntry } from './error-entry.js';
import { REFUSALS } from './refusals.js';
import type { RefusalCode } from './refusals.js';

/** An error response without its envelope. All its fields may be sent to clients. */
export interface GatewayError {
  readonly code: ErrorCode;
  readonly status: number;
  readonly message: string;
  /** The request field that caused the error. */
  readonly param: string | null;
  /** Whole seconds, at least 1. */
  readonly retryAfterSeconds?: number;
  readonly shouldRetry?: false;
}

export interface GatewayErrorOptions {
  readonly status?: number;
  readonly param?: string | null;
  readonly retryAfterSeconds?: number | undefined;
}

/**
 * Creates an error of the catalogue. The message defaults to the catalogue's text, and the status
 * to the code's first one. A caller that passes a provider's status through sets `status`.
 */
export function createGatewayError(code: ErrorCode, message?: string, options: GatewayErrorOptions = {}): GatewayError {
  const entry = findCatalogueEntry(code);
  return {
    code,
    status: options.status ?? entry.statuses[0] ?? 500,
    message: message ?? entry.text,
    param: options.param ?? null,
    ...(options.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: options.retryAfterSeconds }),
    ...(entry.shouldRetry === false ? { shouldRetry: false } : {}),
  };
}

/**
 * Creates the error of a refusal: its text, then the numbers that explain it
 * (docs/behaviour.md#order-of-refusals).
 */
export function createRefusalError(code: RefusalCode, facts: RefusalFacts, context: ErrorContext): GatewayError {
  const entry: RefusalEntry = REFUSALS[code];
  const sentences = [entry.ownText?.(facts) ?? entry.text, ...(entry.explain?.(facts, context) ?? [])];
  if (entry.billingLink) sentences.push(`See ${context.billingLinkUrl}`);
  return createGatewayError(code, sentences.join(' '), {
    param: entry.param?.(facts) ?? null,
    retryAfterSeconds: facts.retryAfterSeconds,
  });
}
