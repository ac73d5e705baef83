import type { OperatorView } from '@gateway/contracts/operator';
import { toOperatorView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

/** Whose a presented token is. Nothing is kept between two questions, so a deleted operator is refused at once, and one whose time is over. */
export async function findOperator(
  store: Pick<AccountsStore, 'findOperator'>,
  { digests }: { readonly digests: readonly string[] },
  nowMs: number,
): Promise<{ operator: OperatorView | null }> {
  const operator = await store.findOperator(digests, nowMs);
  return { operator: operator && toOperatorView(operator) };
}
