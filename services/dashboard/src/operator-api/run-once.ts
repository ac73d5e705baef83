import { accountsBeginIdempotent, accountsEndIdempotent } from '@gateway/contracts/messages';
import { refuse } from '@gateway/contracts/operator';
import { PAGE_ERRORS } from '@gateway/contracts/pages';
import type { Operator } from './access.js';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE, isIdempotencyKey } from '../http/idempotency.js';
import { isRouteRefusal, type Refusal } from '../http/refusals.js';
import type { RouteResponse, RouteResult } from '../http/route.js';
import type { Context } from './route.js';

/**
 * Longest response that is stored. A longer one is not stored, and its request runs again under the
 * same command.
 */
const KEPT_CHARS_MAX = 200_000;
const TOO_MANY = PAGE_ERRORS.too_many_attempts;
/** Fields that are shown once; null in the response to a repeated request. */
const SHOWN_ONCE = ['secret', 'token'];

export interface IdempotentRequest {
  readonly operator: Operator;
  readonly idempotencyKey: string | undefined;
  /** Method, path with query, and canonical body. */
  readonly content: () => string;
}

/**
 * Runs a request with an idempotency key once: begins it, runs the verb under the stored command,
 * stores the response. If the dashboard crashes in between, a repetition runs the verb under the
 * same command, and the services create nothing twice. Faults, 503 and 429 are not stored, because
 * the request was not carried out.
 */
export async function runOnce(
  { secrets, services, log }: Pick<Context, 'secrets' | 'services' | 'log'>,
  { operator, idempotencyKey, content }: IdempotentRequest,
  verb: (command: string | undefined) => Promise<RouteResult>,
): Promise<RouteResult> {
  if (idempotencyKey === undefined) return verb(undefined);
  if (!isIdempotencyKey(idempotencyKey)) {
    return refuse('invalid_request', IDEMPOTENCY_KEY_RULE, IDEMPOTENCY_KEY);
  }
  const name = { operator: operator.id, idempotencyKey, fingerprint: secrets.fingerprintOf(content()) };
  const begun = await services.request(accountsBeginIdempotent, name);
  switch (begun.kind) {
    case 'conflict':
      return refuse('idempotency_conflict', 'the Idempotency-Key was used with a different request; use a new key');
    case 'done':
      return keptAnswer(begun.status, begun.body);
    case 'begun': {
      const handled = await verb(begun.command);
      await storeResponse({ services, log }, name, handled);
      return handled;
    }
  }
}

async function storeResponse(
  { services, log }: Pick<Context, 'services' | 'log'>,
  name: { operator: string; idempotencyKey: string; fingerprint: string },
  handled: RouteResult,
): Promise<void> {
  const status = isRouteRefusal(handled) ? PAGE_ERRORS[handled.refused.code] : handled.status;
  // Fields next to a refusal may hold a secret, so only the refusal is stored.
  const kept = isRouteRefusal(handled) ? { refused: handled.refused } : withoutSecrets(handled.body ?? null);
  const body = JSON.stringify(kept);
  const isForNow = status >= 500 || status === TOO_MANY;
  if (isForNow || body.length > KEPT_CHARS_MAX) return;
  try {
    await services.request(accountsEndIdempotent, { ...name, status, body });
  } catch (err) {
    // The request itself succeeded. A repetition runs again under the same command.
    log.warn({ err }, 'the response to a request with an idempotency key could not be stored');
  }
}

function withoutSecrets(body: object | null): object | null {
  if (body === null) return null;
  const hidden = SHOWN_ONCE.filter((field) => field in body).map((field) => [field, null] as const);
  return hidden.length === 0 ? body : { ...body, ...Object.fromEntries(hidden) };
}

function keptAnswer(status: number, text: string): RouteResult {
  const body = JSON.parse(text) as Refusal | object | null;
  if (body !== null && isRouteRefusal(body)) return { ...body, replayed: true };
  return { status: status as RouteResponse['status'], ...(body === null ? {} : { body }), replayed: true };
}
