import type { PriceProposalPut, PRICE_PROPOSAL_OUTCOMES } from '@gateway/contracts/operator';

/**
 * Returns what is proposed as a text: the same differences give the same one. Sums of reported
 * costs change with every day, so that of them only the source counts and whether it is more
 * expensive or cheaper than its costs in force.
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

/** The same value with the members of its objects by name. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, inner]) => [name, inOrder(inner)]));
}

/** What is stored of the proposal before. */
export interface StoredProposal {
  /** Null: nothing was ever compared. */
  readonly id: string | null;
  /** Epoch milliseconds; null: no time of a schedule was served. */
  readonly scheduledForMs: number | null;
}

/** What a comparison comes to: see `PRICE_PROPOSAL_OUTCOMES`. */
export function proposalOutcome(
  stored: StoredProposal,
  { id, isEmpty, scheduledForMs }: { id: string; isEmpty: boolean; scheduledForMs: number | null },
): (typeof PRICE_PROPOSAL_OUTCOMES)[number] {
  if (scheduledForMs !== null && stored.scheduledForMs !== null && stored.scheduledForMs >= scheduledForMs)
    return 'served';
  if (stored.id === id || (stored.id === null && isEmpty)) return 'unchanged';
  return isEmpty ? 'cleared' : 'raised';
}
