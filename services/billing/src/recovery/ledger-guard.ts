import { type Background, counter, every, gauge } from '@gateway/service-kit';
import { type LedgerCheck, type LostCommitsDeps, checkLedger } from './check-ledger.js';

export const CHECK_MS = 10_000;
/** Interval between checks of an incomplete ledger. */
const RECHECK_MS = 1_000;
/** After this many consecutive failed checks the ledger counts as unchecked. */
const FAILED_MAX = 10;

/** The reason why billing does not use the ledger. */
export type StopReason = 'unchecked' | 'superseded' | 'behind' | 'gap' | 'lost';

export interface GuardDeps extends LostCommitsDeps {
  readonly log: LostCommitsDeps['log'] & { error(facts: object, text: string): void };
  readonly onRecovered?: (recovered: Extract<LedgerCheck, { kind: 'recovered' }>) => void;
}

/**
 * Allows loads, settlements and the publication of changes only on a database that was verified. A
 * database that was restarted or promoted is verified first (docs/protocol.md#r17). Settlements on
 * a restored database are allowed before it is complete, because it has to settle the missing
 * messages again.
 */
export class LedgerGuard {
  #checked: string | null = null;
  #restored: string | null = null;
  /** The database of the last check, independent of its result. */
  #seen: string | null = null;
  #ledgerEpoch: string;
  #stopped: StopReason | null = 'unchecked';
  #failed = 0;
  #gone = 0;
  #checking: Background | null = null;

  constructor(
    private readonly deps: GuardDeps,
    ledgerEpoch: string,
  ) {
    this.#ledgerEpoch = ledgerEpoch;
  }

  /** The epoch under which balances are published. */
  get ledgerEpoch(): string {
    return this.#ledgerEpoch;
  }

  /** Null: the ledger is complete according to the last check. */
  get stopped(): StopReason | null {
    return this.#failed < FAILED_MAX ? this.#stopped : 'unchecked';
  }

  /** Unsettled usage messages that have been deleted from the stream. */
  get gone(): number {
    return this.#gone;
  }

  /** Returns true if the guard knows which database is the ledger. */
  readonly isKnown = (): boolean => this.#checked !== null || this.#restored !== null;

  /**
   * Returns true if the database is the ledger, even if it still has messages to settle. Required
   * for settlements in it and for publishing its changes.
   * @param database the identity that the connection reports
   */
  readonly isLedger = (database: string): boolean => database === this.#restored || this.allows(database);

  /**
   * Returns true if the database is the ledger and complete. Required for loads.
   * @param database the identity that the connection reports
   */
  readonly allows = (database: string): boolean => {
    if (database === this.#checked) return true;
    if (database !== this.#seen) this.#checking?.wake();
    return false;
  };

  /** Checks immediately and then periodically. */
  start(): void {
    this.#checking = every(RECHECK_MS, () => this.check(), {
      atOnce: true,
      failed: (err) => {
        this.#failed += 1;
        this.deps.log.warn({ err }, 'the ledger could not be compared with the stream; will retry');
      },
    });
  }

  async stop(): Promise<void> {
    await this.#checking?.stop();
  }

  /** @returns the delay until the next check, in milliseconds */
  async check(): Promise<number> {
    const checked = await checkLedger(this.deps);
    this.#failed = 0;
    this.#gone = checked.kind === 'gap' ? checked.gone.reduce((sum, { from, to }) => sum + to - from + 1, 0) : 0;
    const { database, ledgerEpoch } = checked.ledger;
    this.#seen = database;
    this.#checked = checked.kind === 'complete' ? database : null;
    this.#restored = checked.kind === 'behind' ? database : null;
    if (checked.kind === 'complete' || checked.kind === 'behind') this.#ledgerEpoch = ledgerEpoch;
    if (checked.kind === 'complete') {
      this.#stopped = null;
      return CHECK_MS;
    }
    this.#report(checked);
    // After lost commits were settled again, the next check finds a complete ledger.
    return checked.kind === 'recovered' || checked.kind === 'retry' ? 0 : RECHECK_MS;
  }

  #report(checked: LedgerCheck): void {
    const { log, onRecovered } = this.deps;
    const { timeline, ledgerEpoch } = checked.ledger;
    if (checked.kind === 'recovered') {
      const { lost, settled } = checked;
      onRecovered?.(checked);
      log.warn({ timeline, ledgerEpoch, lost, settled }, 'the usage of lost commits was settled again from the stream');
    }
    if (checked.kind === 'recovered' || checked.kind === 'complete' || checked.kind === 'retry') {
      this.#stopped = 'lost';
      return;
    }
    if (checked.kind !== this.#stopped)
      log.error({ timeline, ledgerEpoch, ...toGapFields(checked) }, TEXTS[checked.kind]);
    this.#stopped = checked.kind;
  }
}

const TEXTS = {
  gap: 'unsettled usage has left the stream; loads wait until an operator decides',
  superseded:
    'this database is not the ledger any more: a promoted or restored one has replaced it; loads from it are refused',
  behind: 'the ledger was restored; loads wait until it has settled the stream again',
};

function toGapFields(checked: LedgerCheck): object {
  return checked.kind === 'gap' ? { messages: checked.gone.slice(0, 20) } : {};
}

const REASONS: readonly StopReason[] = ['unchecked', 'lost', 'gap', 'behind', 'superseded'];

/** @returns the function to call after lost commits were settled again */
export function createGuardMetrics(guard: () => LedgerGuard): (recovered: { readonly lost: number }) => void {
  gauge(
    'gateway_billing_ledger_stopped',
    'Reason why loads and settlements wait: the ledger has or may have lost commits',
    () => REASONS.map((reason) => [reason, guard().stopped === reason ? 1 : 0] as const),
    { label: 'reason' },
  );
  gauge(
    'gateway_billing_stream_messages_missing',
    'Unsettled usage messages that have left the stream',
    () => guard().gone,
  );
  const epochs = counter(
    'gateway_billing_ledger_epochs_total',
    'Ledger epochs begun because commits were or may have been lost',
  );
  const lostMessages = counter(
    'gateway_billing_lost_messages_total',
    'Lost usage messages that were settled again from the stream',
  );
  return ({ lost }) => {
    epochs.add(1);
    lostMessages.add(lost);
  };
}
