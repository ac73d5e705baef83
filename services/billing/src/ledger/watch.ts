import { every, gauge } from '@gateway/service-kit';
import type { LedgerReader, LedgerSnapshot } from './audit-store.js';
import type { LedgerTransaction } from './rules.js';
import { verifyChain } from './verify-chain.js';

/** Interval between checks of the newest blocks. */
const WATCH_MS = 60_000;
/** Number of blocks to verify in each chain; a block has at most 500 ledger transactions. */
const BLOCKS_WATCHED = 4;

export interface WatchDeps {
  readonly reader: LedgerReader;
  readonly log: { warn(facts: object, text: string): void; error(facts: object, text: string): void };
}

/** Result of a check. */
export interface Watched {
  /** Texts for the log. */
  readonly faults: readonly string[];
  readonly deadLetters: number;
}

/**
 * Checks the invariants of the newest blocks of each chain: the links follow from the ledger, and
 * the entries of each transaction sum to zero. The audit checks the whole ledger.
 */
export async function checkNewestBlocks(ledger: LedgerSnapshot): Promise<Watched> {
  const faults: string[] = [];
  const { chain } = ledger;
  await verifyChain(
    {
      heads: () => chain.heads(),
      async *blocks(after) {
        for await (const block of chain.blocks(after)) {
          for (const { id } of block.members)
            if (totalOf(block.transactions.get(id)) !== 0n)
              faults.push(`the entries of transaction ${id} do not sum to zero`);
          yield block;
        }
      },
    },
    {
      after: await ledger.headsBefore(BLOCKS_WATCHED),
      broken: (link) => faults.push(`chain ${link.chain}, block ${link.block}, ${link.transaction}: ${link.problem}`),
    },
  );
  return { faults, deadLetters: await ledger.deadLetters() };
}

function totalOf(transaction: LedgerTransaction | undefined): bigint {
  return (transaction?.entries ?? []).reduce((total, { amountNanoUsd }) => total + amountNanoUsd, 0n);
}

/** Repeats the check while the service runs, and reports faults as a metric and in the log. */
export function watchLedger({ reader, log }: WatchDeps): { stop(): Promise<void> } {
  let watched: Watched = { faults: [], deadLetters: 0 };
  let polledMs = performance.now();
  gauge(
    'gateway_billing_invariant_violations',
    'Broken invariants in the newest part of the ledger',
    () => watched.faults.length,
  );
  gauge(
    'gateway_billing_invariant_check_age_seconds',
    'Time since the last check of the invariants',
    () => (performance.now() - polledMs) / 1_000,
  );
  gauge('gateway_billing_dead_letters', 'Dead letters that are not resolved', () => watched.deadLetters);

  const poll = async (): Promise<void> => {
    watched = await reader.snapshot(checkNewestBlocks);
    polledMs = performance.now();
    for (const fault of watched.faults) log.error({ fault }, 'an invariant of the ledger is broken');
  };
  const failed = (err: unknown): void => log.warn({ err }, 'the invariants of the ledger could not be checked');
  return every(WATCH_MS, poll, { atOnce: true, failed });
}
