import type { RefusalFacts } from '../messages/call.js';

/** Types of the chat envelope (specification, Error object). */
export type ChatErrorType =
  | 'authentication_error'
  | 'permission_denied_error'
  | 'insufficient_quota'
  | 'rate_limit_error'
  | 'invalid_request_error'
  | 'api_error'
  | 'server_error'
  | 'gateway_error';

/** Types of the messages protocol (docs/behaviour.md#envelopes). */
export type MessagesErrorType =
  | 'authentication_error'
  | 'permission_error'
  | 'billing_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'invalid_request_error'
  | 'api_error'
  | 'overloaded_error'
  | 'timeout_error';

/** When a client may retry (specification, Retry guidance). */
export type RetryAdvice = 'after_retry_after' | 'with_backoff' | 'after_reset' | 'no';

/** URLs that the error texts contain. */
export interface ErrorContext {
  readonly billingLinkUrl: string;
  readonly chatBaseUrl: string;
  readonly messagesBaseUrl: string;
}

export interface ErrorEntry {
  /**
   * The statuses that the code may have. The first one is the default. `5xx` codes take the
   * provider's status.
   */
  readonly statuses: readonly number[];
  readonly chatType: ChatErrorType;
  readonly messagesType: MessagesErrorType;
  readonly retry: RetryAdvice;
  /** The default message. */
  readonly text: string;
  /** Advice for the client, in Markdown: the cell of the code in CLIENTS.md of the edge. */
  readonly remedy: string;
  /** Whether the message ends with the link to billing. */
  readonly billingLink?: true;
  /**
   * False: the response forbids a retry, because official clients would sleep for days or overflow
   * a timer on Retry-After.
   */
  readonly shouldRetry?: false;
}

/** An error that refuses a request because of a check. */
export interface RefusalEntry extends ErrorEntry {
  /** The checked condition, in Markdown (docs/behaviour.md#order-of-refusals). */
  readonly check: string;
  /** Parts of the response besides status and code, in Markdown, for the same table. */
  readonly note?: string;
  /** Returns the request field that caused the refusal. Absent: always null. */
  readonly param?: (facts: RefusalFacts) => string | null;
  /** Returns the text for cases that `text` does not fit, else null. */
  readonly ownText?: (facts: RefusalFacts) => string | null;
  /** Returns the sentences that follow the text and contain the numbers. */
  readonly explain?: (facts: RefusalFacts, context: ErrorContext) => readonly string[];
}

export const invalid = {
  statuses: [400],
  chatType: 'invalid_request_error',
  messagesType: 'invalid_request_error',
  retry: 'no',
} as const;
export const notFound = {
  statuses: [404],
  chatType: 'invalid_request_error',
  messagesType: 'not_found_error',
  retry: 'no',
} as const;
export const unauthenticated = {
  statuses: [401],
  chatType: 'authentication_error',
  messagesType: 'authentication_error',
  retry: 'no',
} as const;
export const forbidden = {
  statuses: [403],
  chatType: 'permission_denied_error',
  messagesType: 'permission_error',
  retry: 'no',
} as const;
export const unpaid = {
  statuses: [402],
  chatType: 'insufficient_quota',
  messagesType: 'billing_error',
  retry: 'no',
  billingLink: true,
} as const;
export const limited = { statuses: [429], chatType: 'rate_limit_error', messagesType: 'rate_limit_error' } as const;
export const internal = {
  statuses: [500],
  chatType: 'server_error',
  messagesType: 'api_error',
  retry: 'with_backoff',
} as const;
