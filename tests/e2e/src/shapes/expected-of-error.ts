import type { Shape } from './shape.js';

/**
 * The expected result when the only source returns an error of a class
 * (docs/behaviour.md#failover).
 */
export interface ExpectedError {
  readonly status: number;
  readonly code: string;
  /**
   * Whether the client receives the provider's message. If not, it receives the gateway's own
   * message.
   */
  readonly repeats: boolean;
  /** Whether the edge logs the error class and the provider's message. */
  readonly isLogged: boolean;
  readonly failuresInARow: 0 | 1 | 2;
  readonly restMs: number | null;
}

const COOL_DOWN_MS = 5_000;
const COOL_DOWN_MS_MAX = 600_000;
const REFUSED_MS = 30_000;
const CHAT_STYLE = (endpoint: string): boolean => !endpoint.startsWith('/v1/messages');

export function expectedOfError(shape: Shape): ExpectedError {
  const { status, endpoint, expected } = shape;
  const isChat = CHAT_STYLE(endpoint);
  const isBody = status === 400 || status === 422;
  const clients = { isLogged: true, failuresInARow: 0, restMs: null } as const;
  const ours = { isLogged: true, failuresInARow: 0, restMs: REFUSED_MS, repeats: false } as const;
  /**
   * A single client may have caused the error, so it counts only after three accounts have received
   * it.
   */
  const unclear = { ...ours, restMs: null };
  const fails = { isLogged: false, failuresInARow: 1, restMs: null, repeats: false } as const;
  switch (expected.errorClass) {
    case 'body':
      return { ...clients, status: 400, code: 'invalid_request', repeats: isChat };
    case 'content':
      return { ...clients, status: 400, code: 'invalid_request', repeats: isChat && isBody };
    case 'item':
      return isBody
        ? { ...clients, status: 400, code: 'invalid_request', repeats: isChat }
        : { ...clients, status: 404, code: 'model_not_found', repeats: false };
    case 'credential':
      return { ...ours, status: status === 403 ? 403 : 401, code: 'upstream_auth_error' };
    case 'funds':
      return { ...ours, status: 403, code: 'upstream_auth_error' };
    case 'forbidden':
      return { ...unclear, status: 403, code: 'upstream_auth_error' };
    case 'not_found':
      return { ...unclear, status: 404, code: 'model_not_found' };
    case 'model': {
      const isCertain = expected.names !== undefined || expected.certain === true;
      return { ...(isCertain ? ours : unclear), status: 404, code: 'model_not_found' };
    }
    case 'quota':
      return { ...fails, failuresInARow: 0, status: 429, code: 'rate_limit_exceeded', restMs: coolDownMs(shape) };
    case 'late':
      return { ...fails, status: 504, code: 'upstream_timeout' };
    case 'overload':
      // A 529 from the only source is retried once.
      return {
        ...fails,
        failuresInARow: status === 529 ? 2 : 1,
        status: failureStatus(shape),
        code: 'upstream_error',
      };
    case undefined:
    case null:
      if (expected.unusable === true) return { ...fails, status: 502, code: 'upstream_error' };
  }
  throw new Error(`${shape.name}: no expected result for this error class`);
}

export function retryAfterOf({ expected: { errorClass, retryAfterMs } }: Shape): string | null {
  return errorClass === 'quota' && retryAfterMs != null ? String(Math.ceil(retryAfterMs / 1_000)) : null;
}

function coolDownMs(shape: Shape): number {
  const seconds = retryAfterOf(shape);
  return seconds === null ? COOL_DOWN_MS : Math.min(Number(seconds) * 1_000, COOL_DOWN_MS_MAX);
}

function failureStatus({ status, expected }: Shape): number {
  const said = status === 200 ? expected.saidStatus : status;
  return said !== undefined && said >= 500 ? said : 502;
}
