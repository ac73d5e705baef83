import type { PriceProposalPut, PRICE_PROPOSAL_OUTCOMES } from '@gateway/contracts/operator';

/**
 * Returns the content of a proposal as text, which is equal for equal differences. Sums of reported
 * costs change every day, so only the source and the direction of the difference are included.
 */
export function proposalText({ changes, reported }: Pick<PriceProposalPut, 'changes' | 'reported'>): string {
  const parts = [
    ...changes.map(({ kind, objectId, before, after }) =>
      JSON.stringify([kind, objectId, inOrder(before), inOrder(after)]),
    ),
    ...reported.map(({ sourceId, computedUsd, reportedUsd }) =>
      JSON.stringify(['reported', sourceId, Number(reportedUsd) > Number(computedUsd)]),
    ),
  ];
  return parts.sort().join('\n');
}

/** Returns the value with sorted object members. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, inner]) => [name, inOrder(inner)]));
}

/** The stored fields of the previous proposal. */
export interface StoredProposal {
  /** Null: no comparison was stored. */
  readonly id: string | null;
  /** Epoch milliseconds. Null: no scheduled time was handled. */
  readonly scheduledForMs: number | null;
}

/** Returns the outcome of a comparison, see `PRICE_PROPOSAL_OUTCOMES`. */
export function proposalOutcome(
  stored: StoredProposal,
  { id, isEmpty, scheduledForMs }: { id: string; isEmpty: boolean; scheduledForMs: number | null },
): (typeof PRICE_PROPOSAL_OUTCOMES)[number] {
  if (scheduledForMs !== null && stored.scheduledForMs !== null && stored.scheduledForMs >= scheduledForMs)
    return 'served';
  if (stored.id === id || (stored.id === null && isEmpty)) return 'unchanged';
  return isEmpty ? 'cleared' : 'raised';
}
