import { type Background, every } from '@gateway/service-kit';
import { type Checked, checkLedger, type LostCommitsDeps } from './check-ledger.js';

/** How often a ledger that is whole is compared again. */
export const CHECK_MS = 10_000;
/** How often one that is not. */
const RECHECK_MS = 1_000;
/** So many comparisons in a row that fail are told as what stops the ledger. */
const FAILED_MAX = 10;

/** Why nothing is answered from the ledger. */
export type Stopped = 'unchecked' | 'superseded' | 'behind' | 'gap' | 'lost';

export interface GuardDeps extends LostCommitsDeps {
  readonly log: LostCommitsDeps['log'] & { error(facts: object, text: string): void };
  readonly onMended?: (mended: Extract<Checked, { kind: 'mended' }>) => void;
}

/**
 * Lets loads, settlements and what is told of changes use the database that was found whole, and no
 * other: a database that was started anew or promoted is compared first (docs/protocol.md#r17). One
 * that was restored is the ledger before it is whole: it settles again what it lacks.
 */
export class LedgerGuard {
  #checked: string | null = null;
  #restored: string | null = null;
  /** The database that the last look saw, whatever it found. */
  #seen: string | null = null;
  #ledgerEpoch: string;
  #stopped: Stopped | null = 'unchecked';
  #failed = 0;
  #gone = 0;
  #checking: Background | null = null;

  constructor(
    private readonly deps: GuardDeps,
    ledgerEpoch: string,
  ) {
    this.#ledgerEpoch = ledgerEpoch;
  }

  /** Under which epoch balances are told. */
  get ledgerEpoch(): string {
    return this.#ledgerEpoch;
  }

  /** Null: the ledger is whole, as far as is known. */
  get stopped(): Stopped | null {
    return this.#failed < FAILED_MAX ? this.#stopped : 'unchecked';
  }

  /** Messages of usage that are not settled and have left the stream. */
  get gone(): number {
    return this.#gone;
  }

  /** Whether it is known which database is the ledger. */
  readonly isKnown = (): boolean => this.#checked !== null || this.#restored !== null;

  /**
   * Whether it is the ledger, which may have to settle more: to settle in it, and to tell its
   * changes under its epoch.
   * @param database as the connection says which one it sees
   */
  readonly isLedger = (database: string): boolean => database === this.#restored || this.allows(database);

  /**
   * Whether it is the ledger, and whole: to load from it.
   * @param database as the connection says which one it sees
   */
  readonly allows = (database: string): boolean => {
    if (database === this.#checked) return true;
    if (database !== this.#seen) this.#checking?.wake();
    return false;
  };

  /** Checks now, and again and again. */
  start(): void {
    this.#checking = every(RECHECK_MS, () => this.check(), {
      atOnce: true,
      failed: (err) => {
        this.#failed += 1;
        this.deps.log.warn({ err }, 'the ledger could not be compared with the stream; trying on');
      },
    });
  }

  async stop(): Promise<void> {
    await this.#checking?.stop();
  }

  /** @returns after how many milliseconds to look again */
  async check(): Promise<number> {
    const checked = await checkLedger(this.deps);
    this.#failed = 0;
    this.#gone = checked.kind === 'gap' ? checked.gone.reduce((sum, { from, to }) => sum + to - from + 1, 0) : 0;
    const { database, ledgerEpoch } = checked.look;
    this.#seen = database;
    this.#checked = checked.kind === 'whole' ? database : null;
    this.#restored = checked.kind === 'behind' ? database : null;
    if (checked.kind === 'whole' || checked.kind === 'behind') this.#ledgerEpoch = ledgerEpoch;
    if (checked.kind === 'whole') {
      this.#stopped = null;
      return CHECK_MS;
    }
    this.#tell(checked);
    // What was mended is whole at the next look.
    return checked.kind === 'mended' || checked.kind === 'again' ? 0 : RECHECK_MS;
  }

  #tell(checked: Checked): void {
    const { log, onMended } = this.deps;
    const { timeline, ledgerEpoch } = checked.look;
    if (checked.kind === 'mended') {
      const { lost, settled } = checked;
      onMended?.(checked);
      log.warn({ timeline, ledgerEpoch, lost, settled }, 'the usage of lost commits was settled again from the stream');
      this.#stopped = 'lost';
      return;
    }
    if (checked.kind === 'whole' || checked.kind === 'again') {
      this.#stopped = 'lost';
      return;
    }
    if (checked.kind !== this.#stopped) log.error({ timeline, ledgerEpoch, ...gapOf(checked) }, TEXTS[checked.kind]);
    this.#stopped = checked.kind;
  }
}

const TEXTS = {
  gap: 'usage that is not settled has left the stream: nothing is loaded until a person decides',
  superseded:
    'this database was promoted away, or a restored one has taken its place: it is not the ledger any more, and nothing is loaded from it',
  behind: 'the ledger was restored; nothing is loaded until it has settled again what the stream has',
};

function gapOf(checked: Checked): object {
  return checked.kind === 'gap' ? { messages: checked.gone.slice(0, 20) } : {};
}
