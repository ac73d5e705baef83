import type { SettleRequest, SettleStore } from '../ports.js';
import type { BatchDecision, EventOutcome } from '../usage/decide-rules.js';
import type { ChainedTransaction } from './chain-rules.js';
import type { SetAsideReason } from './rules.js';

/** What one database transaction appended to a chain. */
export interface ChainBlock {
  readonly chain: number;
  readonly number: bigint;
  /** Id and link (hexadecimal) of each ledger transaction, in the order of the chain. */
  readonly members: readonly { readonly id: string; readonly link: string }[];
  /** By id, those of the members that are in the ledger, and perhaps others. */
  readonly transactions: ReadonlyMap<string, ChainedTransaction>;
}

/** Where a chain ends: `number` blocks, the last of which ends with `link` (hexadecimal). */
export interface ChainHead {
  readonly chain: number;
  readonly number: bigint;
  readonly link: string;
}

/** The chains of one ledger, as they were in one moment: of a database, or of an export. */
export interface ChainSource {
  /** By chain and number, from the first block or the ones after `after`; nothing is held but a few blocks. */
  blocks(after?: readonly ChainHead[]): AsyncIterable<ChainBlock>;
  heads(): Promise<readonly ChainHead[]>;
}

/** Two records of one thing that do not agree. */
export interface Difference {
  /** What was compared. */
  readonly check: string;
  /** Which of them: an id, an account with the name of a row, … */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/** A ledger as it was in one moment. */
export interface LedgerSnapshot {
  readonly chain: ChainSource;
  /** Every difference between its tables, one check after the other; `begin` hears of each check. */
  differences(begin: (check: string) => void): AsyncIterable<Difference>;
  /** Where the chains ended so many blocks ago; a shorter chain is left out. */
  headsBefore(blocks: number): Promise<readonly ChainHead[]>;
  /** Events that are set aside and that no replay has resolved. */
  setAside(): Promise<number>;
}

export interface LedgerReader {
  /** All of `work` sees the ledger of one moment; it must not write. */
  snapshot<T>(work: (ledger: LedgerSnapshot) => Promise<T>): Promise<T>;
}

/** An event that was set aside, as a person looks at it. */
export interface SetAsideRow {
  /** SHA-256, hexadecimal: its name. */
  readonly contentHash: string;
  readonly requestId: string | null;
  readonly account: string | null;
  readonly shard: number;
  readonly sequence: number;
  readonly reason: SetAsideReason;
  readonly detail: string;
  readonly setAsideAt: Date;
  readonly event: Buffer;
  /** How often it was tried again; the last time with these outcomes. */
  readonly replays: number;
  readonly lastOutcomes: readonly EventOutcome[] | null;
}

export interface ReplayResult {
  readonly outcomes: readonly EventOutcome[];
  /** Nothing of it is set aside any more. */
  readonly resolved: boolean;
}

export interface SetAsideStore extends Pick<SettleStore, 'ensureMonth'> {
  /** Oldest first; those that a replay has resolved only if `all`. */
  list(all: boolean): AsyncIterable<SetAsideRow>;
  find(contentHash: string): Promise<SetAsideRow | null>;
  /** Settles, notes the replay and queues the standings for admission, in one database transaction. */
  replay(
    contentHash: string,
    actor: string,
    request: SettleRequest,
  ): Promise<ReplayResult & { decided: BatchDecision }>;
}

/** What the command for a restored ledger needs of it. */
export interface RestoreStore {
  /** Every message up to it was settled when the backup was made. */
  floorSequence(): Promise<number>;
  /** Gives the ledger a new incarnation and queues, for every account, a standing that makes admission load it again. */
  beginIncarnation(): Promise<{ readonly incarnation: string; readonly accounts: number }>;
}
