import type { UsageRecordView } from '@gateway/contracts/operator';
import type { ReadHealth } from './health-watch.js';
import type { Play } from './plays.js';
import type { SourceName } from './scenario.js';

/** An answer as its client read it. */
export interface SeenAnswer {
  readonly requestId: string;
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
  /** The connection broke before the answer ended. */
  readonly cut: boolean;
}

export interface SeenCall {
  readonly answer: SeenAnswer;
  /** By the record, in order. */
  readonly asked: readonly SourceName[];
  /** By the providers, which know of no connection that was refused. */
  readonly reached: readonly string[];
  readonly record: UsageRecordView;
  /** By the ledger's entries, nano-USD; absent until the ledger was read. */
  readonly takenNanoUsd?: bigint;
}

/** What came of a play. */
export interface SeenPlay {
  readonly play: Play;
  readonly calls: readonly SeenCall[];
  /** Of source `a` after the last call. */
  readonly health: ReadHealth;
}
