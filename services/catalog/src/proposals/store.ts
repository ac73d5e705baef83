import { createHash } from 'node:crypto';
import type { CommandAuthor } from '@gateway/contracts/messages';
import type { PriceProposalPut, PriceProposalSaved, PriceProposalView } from '@gateway/contracts/operator';
import { inTransaction, onPool, type Pool } from '@gateway/postgres';
import { writeRecords } from '../storage/writes-sql.js';
import { proposalOutcome, proposalText } from './rules.js';

const ID_CHARACTERS = 16;
/** Object ID of the only proposal in the audit log. */
const OBJECT_ID = 'price-proposal';

interface ProposalRow {
  readonly content_hash: string | null;
  readonly proposal: Omit<PriceProposalPut, 'scheduledFor'> | null;
  readonly raised_at: Date | null;
  readonly checked_at: Date | null;
  readonly scheduled_for: Date | null;
}

const SELECT = 'SELECT content_hash, proposal, raised_at, checked_at, scheduled_for FROM price_proposal';

export type ProposalStore = ReturnType<typeof createProposalStore>;

/** Creates access to the newest result of a comparison with price lists. */
export function createProposalStore(pool: Pool) {
  return {
    /** Returns null if no comparison was stored. */
    async read(): Promise<PriceProposalView | null> {
      const row = await onPool(pool).one<ProposalRow>(SELECT);
      return row && viewOf(row);
    },
    /**
     * Stores a proposal. The catalog's lock makes one replica handle each scheduled time. A changed
     * proposal is recorded with its author.
     */
    save: (put: PriceProposalPut, author: CommandAuthor, nowMs: number): Promise<PriceProposalSaved> =>
      inTransaction(pool, async (tx) => {
        const { scheduledFor, ...proposal } = put;
        const id = createHash('sha256').update(proposalText(proposal)).digest('hex').slice(0, ID_CHARACTERS);
        const isEmpty = proposal.changes.length === 0 && proposal.reported.length === 0;
        const scheduledForMs = scheduledFor === undefined ? null : Date.parse(scheduledFor);
        const state = await tx.one<{ revision: bigint }>('SELECT revision FROM catalog_state FOR UPDATE');
        const stored = await tx.one<ProposalRow>(SELECT);
        if (state === null || stored === null) throw new Error('the catalog has no row for price proposals');
        const previous = { id: stored.content_hash, scheduledForMs: stored.scheduled_for?.getTime() ?? null };
        const outcome = proposalOutcome(previous, { id, isEmpty, scheduledForMs });
        const there = viewOf(stored);
        if (outcome === 'served' && there !== null) return { ...there, outcome };
        const now = new Date(nowMs);
        const raisedAt = outcome === 'unchanged' ? (stored.raised_at ?? now) : now;
        const servedAt = scheduledForMs === null ? stored.scheduled_for : new Date(scheduledForMs);
        await tx.execute(
          'UPDATE price_proposal SET content_hash = $1, proposal = $2, raised_at = $3, checked_at = $4, scheduled_for = $5',
          [id, JSON.stringify(proposal), raisedAt, now, servedAt],
        );
        if (outcome !== 'unchanged') {
          const before = stored.content_hash === null ? null : { proposal: stored.content_hash };
          const record = {
            author,
            action: 'propose_prices',
            objectId: OBJECT_ID,
            before,
            after: { proposal: id },
          } as const;
          await writeRecords(tx, Number(state.revision), [record]);
        }
        const times = { raisedAt: raisedAt.toISOString(), checkedAt: now.toISOString() };
        return { ...proposal, id, ...times, scheduledFor: servedAt?.toISOString() ?? null, outcome };
      }),
  };
}

function viewOf({
  content_hash,
  proposal,
  raised_at,
  checked_at,
  scheduled_for,
}: ProposalRow): PriceProposalView | null {
  if (content_hash === null || proposal === null || raised_at === null || checked_at === null) return null;
  return {
    ...proposal,
    id: content_hash,
    raisedAt: raised_at.toISOString(),
    checkedAt: checked_at.toISOString(),
    scheduledFor: scheduled_for?.toISOString() ?? null,
  };
}
