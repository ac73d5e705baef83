import {
  type CommandAuthor,
  accountsCreateOperator,
  accountsCreateOperatorSession,
  accountsDeleteOperator,
  accountsEndOperatorSession,
  accountsFindOperator,
  accountsFindOperatorSession,
  accountsListOperators,
} from '@gateway/contracts/messages';
import { type ManagementRefusal, type OperatorView, refuse, refuseCursor } from '@gateway/contracts/operator';
import { isCursorOf, pageOf } from '../base/rules.js';
import type { Handlers } from '../base/serve.js';
import { type CreateOperatorDeps, createOperator } from './create-operator.js';
import {
  type OperatorSessionDeps,
  createOperatorSession,
  endOperatorSession,
  findOperatorSession,
  toOperatorView,
} from './sessions.js';
import type { OperatorStore } from './store.js';

/** Returns one page of operators who can sign in, in the order of creation. */
export async function listOperators(
  store: Pick<OperatorStore, 'operators'>,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
): Promise<{ operators: OperatorView[]; nextCursor: string | null } | ManagementRefusal> {
  if (!isCursorOf('opr', cursor)) return refuseCursor();
  const { items, nextCursor } = pageOf(await store.operators(cursor, limit + 1), limit, ({ id }) => id);
  return { operators: items.map(toOperatorView), nextCursor };
}

/**
 * Returns the operator of a presented token. Nothing is cached, so a deleted or expired operator is
 * refused immediately.
 */
export async function findOperator(
  store: Pick<OperatorStore, 'findOperator'>,
  { digests }: { readonly digests: readonly string[] },
  nowMs: number,
): Promise<{ operator: OperatorView | null }> {
  const operator = await store.findOperator(digests, nowMs);
  return { operator: operator && toOperatorView(operator) };
}

/** Deletes an operator, whose next request is refused. Deleting it again changes nothing. */
export async function deleteOperator(
  store: Pick<OperatorStore, 'change'>,
  { operator: id, author }: { readonly operator: string; readonly author: CommandAuthor },
): Promise<{ deleted: true } | ManagementRefusal> {
  return store.change(async (tx) => {
    const found = await tx.lockOperator(id);
    if (!found) return refuse('not_found', 'there is no such operator');
    if (found.deleted) return { deleted: true };
    await tx.deleteOperator(id);
    const before = toOperatorView(found.operator);
    await tx.audit({ author, action: 'delete_operator', account: null, objectId: id, before, after: null });
    return { deleted: true };
  });
}

/** Registers the handlers of operator and operator session requests. */
export function serveOperators(
  { lookup, change }: Handlers,
  deps: CreateOperatorDeps & OperatorSessionDeps & { readonly store: OperatorStore },
): void {
  const { store, nowMs } = deps;
  lookup(accountsFindOperator, (body) => findOperator(store, body, nowMs()));
  lookup(accountsFindOperatorSession, (body) => findOperatorSession(deps, body));
  lookup(accountsListOperators, (body) => listOperators(store, body));
  change(accountsCreateOperator, (body) => createOperator(deps, body));
  change(accountsDeleteOperator, (body) => deleteOperator(store, body));
  change(accountsCreateOperatorSession, (body) => createOperatorSession(deps, body));
  change(accountsEndOperatorSession, (body) => endOperatorSession(deps, body));
}
