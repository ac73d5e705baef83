import type { IncomingMessage } from 'node:http';
import type { PageRefusal } from '../domain/page-refusal.js';
import { refuseNoOperator } from './identify.js';
import type { PageContext } from './page-route.js';

/**
 * Puts the token of the operator's session in the place of an Authorization header, whatever came there; the operator API then judges
 * it as ever. Null: done.
 */
export function authorizeOperator(context: PageContext, request: IncomingMessage): PageRefusal | null {
  const refusal = refuseNoOperator(context, request);
  if (refusal !== null) return refusal;
  const { sessions, clock } = context.door;
  const token = sessions.openOperator(context.cookies.operator ?? '', clock.nowMs());
  request.headers.authorization = `Bearer ${token ?? ''}`;
  return null;
}
