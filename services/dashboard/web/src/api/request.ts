import type { PageError } from '@gateway/contracts/pages';

/** A failed request of a page. `requestId` identifies it to the operator. */
export class ApiError extends Error {
  constructor(
    /**
     * A code of the pages' API; in the playground also of the public API and of providers;
     * `network` or `unexpected_answer`.
     */
    readonly code: string,
    message: string,
    readonly status: number,
    readonly requestId: string | null,
    readonly param: string | null = null,
    /** In seconds, from `Retry-After`. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

export type Query = Readonly<Record<string, string | number | undefined | null>>;

interface Options {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Identifies a change that may be sent twice but must be made once. */
  readonly idempotencyKey?: string;
}

/** Longest wait for a response of the pages' API. */
const ANSWER_MS_MAX = 30_000;

let csrfToken: string | null = null;

/** Sets the session's token, which is sent with every change. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** Sends a request and returns its JSON, or undefined. Rejects with an {@link ApiError}. */
export async function request<T>(path: string, options: Options = {}): Promise<T> {
  const limit = AbortSignal.timeout(ANSWER_MS_MAX);
  const response = await send(path, {
    ...options,
    signal: options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]),
  });
  if (response.status === 204) return undefined as T;
  return (await readJson(response)) as T;
}

/** Sends a request and returns the response for the caller to read. Rejects if it is refused. */
export async function send(
  path: string,
  { method = 'GET', query, body, signal, idempotencyKey }: Options,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/api${path}${queryText(query)}`, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        ...(body === undefined && method !== 'POST' ? {} : { 'content-type': 'application/json' }),
        ...(method === 'GET' || csrfToken === null ? {} : { 'x-csrf-token': csrfToken }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(body === undefined ? (method === 'POST' ? { body: '{}' } : {}) : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (fault) {
    if (signal?.aborted === true && signal.reason instanceof DOMException && signal.reason.name === 'AbortError') {
      throw fault;
    }
    throw new ApiError('network', 'The gateway did not respond. Check your connection and try again.', 0, null);
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

function queryText(query: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') parts.set(name, String(value));
  }
  const text = parts.toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns the response, or null for a 404. */
export async function readOrNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 404) return null;
    throw fault;
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-gateway-request-id');
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const body = (await response.json().catch(() => null)) as Partial<PageError> | null;
  const error = body?.error;
  return new ApiError(
    error?.code ?? 'unexpected_answer',
    error?.message ?? `The gateway responded with status ${response.status}. Try again.`,
    response.status,
    error?.request_id ?? requestId,
    error?.param ?? null,
    Number.isFinite(retryAfter) ? retryAfter : null,
  );
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    const requestId = response.headers.get('x-gateway-request-id');
    throw new ApiError(
      'unexpected_answer',
      'The response of the gateway is malformed. Try again.',
      response.status,
      requestId,
    );
  }
}
