import { hasKeyForm } from '@gateway/contracts/ids';
import { accountsFindOperator } from '@gateway/contracts/messages';
import { refuse } from '@gateway/contracts/operator';
import type { Request, Response } from 'express';
import { OPERATOR_TOKEN_PREFIX, ROOT, type Operator } from './access.js';
import type { Refusal } from '../http/refusals.js';
import { findPlace } from '../http/request-place.js';
import type { Context } from './route.js';

type Known = Pick<Context, 'secrets' | 'services' | 'attempts'>;

const AGAIN_SECONDS = 10;
/** Key in `response.locals` of the function that finds a session's operator. */
const SIGNED_IN = 'signedInOperator';
type FindSignedIn = () => Promise<Operator | null>;

/**
 * Sets the session's operator as the caller; the Authorization header is ignored from then on.
 * @param operator returned by the first lookup @param findAgain called by each later lookup; null:
 * the session has ended
 */
export function setSignedIn(response: Response, operator: Operator, findAgain: FindSignedIn): void {
  let known: Operator | null = operator;
  const find: FindSignedIn = () => {
    const named = known === null ? findAgain() : Promise.resolve(known);
    known = null;
    return named;
  };
  response.locals[SIGNED_IN] = find;
}

/** Identifies the caller by the operator's session, else by the token in the header. */
export async function identifyOperator(
  context: Known,
  request: Request,
  response: Response,
): Promise<Operator | Refusal> {
  const find = response.locals[SIGNED_IN] as FindSignedIn | undefined;
  if (find === undefined) return authenticate(context, request.headers.authorization, findPlace(request).client);
  return (await find()) ?? refuse('invalid_operator_token', "the operator's session has ended; sign in again");
}

/**
 * Finds the holder of a token. Named operators are looked up for each request, so that a deleted
 * one is refused at once. A token that was not valid recently is counted before any lookup,
 * including the deployment's own token, so that guessing is slow.
 * @param client the client's network
 */
export async function authenticate(
  context: Known,
  authorization: string | undefined,
  client: string,
): Promise<Operator | Refusal> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  const { attempts } = context;
  if (token === undefined) {
    return refuse('invalid_operator_token', 'an operator token is required: send Authorization: Bearer <token>');
  }
  if (!attempts.mayTry(token, client)) return refuseAttempts();
  const operator = await findHolder(context, token);
  if (operator === 'not asked') return refuseAttempts();
  if (operator === null) {
    attempts.wasWrong(token);
    return refuse('invalid_operator_token', 'the operator token is invalid');
  }
  attempts.wasRight(token);
  return operator;
}

async function findHolder(
  { secrets, services, attempts }: Known,
  token: string,
): Promise<Operator | 'not asked' | null> {
  if (secrets.isRootToken(token)) return ROOT;
  if (!hasKeyForm(token, [OPERATOR_TOKEN_PREFIX])) return null;
  if (!attempts.mayAsk(token)) return 'not asked';
  return (await services.request(accountsFindOperator, { digests: secrets.digestsOf(token) })).operator;
}

function refuseAttempts(): Refusal {
  const refusal = refuse('too_many_attempts', 'too many operator tokens were tried; wait before the next one');
  return { ...refusal, retryAfterSeconds: AGAIN_SECONDS };
}
