import { hasKeyForm } from '@gateway/contracts/ids';
import { accountsFindOperator } from '@gateway/contracts/messages';
import { refuse } from '@gateway/contracts/operator';
import type { Request, Response } from 'express';
import { OPERATOR_TOKEN_PREFIX, ROOT, type Operator } from './access.js';
import type { Refusal } from '../http/refusals.js';
import { placeOf } from '../http/request-place.js';
import type { Context } from './route.js';

type Known = Pick<Context, 'secrets' | 'services' | 'attempts'>;

const AGAIN_SECONDS = 10;
/** Where in `response.locals` the operator of a session stands. */
const SIGNED_IN = 'signedInOperator';

/** Says that a session of the pages has named who asks: no token is looked at any more. */
export function setSignedIn(response: Response, operator: Operator): void {
  response.locals[SIGNED_IN] = operator;
}

/** Who asks: the operator of a session, else whoever holds the token in the header. */
export async function whoAsks(context: Known, request: Request, response: Response): Promise<Operator | Refusal> {
  const signedIn = response.locals[SIGNED_IN] as Operator | undefined;
  return signedIn ?? authenticate(context, request.headers.authorization, placeOf(request).client);
}

/**
 * Who holds the presented token. Named operators are asked for each time, so that a deleted one is
 * refused at once. A token that was not right lately is counted before anybody is asked, also the
 * deployment's own: guessing is slow whatever is guessed.
 * @param client the network that it comes from
 */
export async function authenticate(
  context: Known,
  authorization: string | undefined,
  client: string,
): Promise<Operator | Refusal> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  const { attempts } = context;
  if (token === undefined) {
    return refuse('invalid_operator_token', 'an operator token is needed: Authorization: Bearer <token>');
  }
  if (!attempts.mayTry(token, client)) return refuseTries();
  const operator = await holderOf(context, token);
  if (operator === 'not asked') return refuseTries();
  if (operator === null) {
    attempts.wasWrong(token);
    return refuse('invalid_operator_token', 'the operator token is not valid');
  }
  attempts.wasRight(token);
  return operator;
}

async function holderOf({ secrets, services, attempts }: Known, token: string): Promise<Operator | 'not asked' | null> {
  if (secrets.isRootToken(token)) return ROOT;
  if (!hasKeyForm(token, [OPERATOR_TOKEN_PREFIX])) return null;
  if (!attempts.mayAsk(token)) return 'not asked';
  return (await services.request(accountsFindOperator, { digests: secrets.digestsOf(token) })).operator;
}

function refuseTries(): Refusal {
  const refusal = refuse('too_many_attempts', 'too many operator tokens were tried; wait before the next one');
  return { ...refusal, retryAfterSeconds: AGAIN_SECONDS };
}
