import type { Request, Response } from 'express';
import type { PageRefusal } from '../refusals.js';
import { setSignedIn } from '../../operator-api/authenticate.js';
import { findOperator } from './find-operator.js';
import { refuseNoOperator } from './identify.js';
import type { PageContext } from '../route.js';

/** Puts the operator of the session in the place of an Authorization header, whatever came there. Null: done. */
export async function authorizeOperator(
  context: PageContext,
  request: Request,
  response: Response,
): Promise<PageRefusal | null> {
  const operator = await findOperator(context);
  const refusal = refuseNoOperator(context, operator, request);
  if (operator !== null && refusal === null) setSignedIn(response, operator);
  return refusal;
}
