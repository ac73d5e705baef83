import { catalogueEntry } from './catalogue.js';
import type { ErrorCode } from './catalogue.js';

/** An error answer before it gets its envelope. Everything in it may leave the gateway. */
export interface GatewayError {
  readonly code: ErrorCode;
  readonly status: number;
  readonly message: string;
  /** The request's field that is at fault. */
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
 * An error of the catalogue. Without a message it says the catalogue's; the status is the
 * catalogue's first unless the code passes a provider's through.
 */
export function gatewayError(code: ErrorCode, message?: string, options: GatewayErrorOptions = {}): GatewayError {
  const entry = catalogueEntry(code);
  return {
    code,
    status: options.status ?? entry.statuses[0] ?? 500,
    message: message ?? entry.text,
    param: options.param ?? null,
    ...(options.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: options.retryAfterSeconds }),
    ...(entry.shouldRetry === false ? { shouldRetry: false } : {}),
  };
}
