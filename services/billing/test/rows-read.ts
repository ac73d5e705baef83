interface Node {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Node[];
}

/** The result of `EXPLAIN (ANALYZE, FORMAT JSON)`. */
export interface QueryPlan {
  readonly 'QUERY PLAN'?: readonly { readonly Plan: Node }[];
}

/** Returns the number of rows of `balances` that a plan has read. */
export function countRowsRead(explained: QueryPlan | undefined): number {
  return readBy(explained?.['QUERY PLAN']?.[0]?.Plan);
}

function readBy(node: Node | undefined): number {
  if (node === undefined) throw new Error('there is no plan');
  const below = (node.Plans ?? []).reduce((sum, one) => sum + readBy(one), 0);
  if (node['Relation Name'] !== 'balances') return below;
  return below + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}
