import type { UsageRecordView } from '@gateway/contracts/operator';
import type { ReadHealth } from './health-watch.js';
import type { Play } from './plays.js';
import type { SourceName } from './scenario.js';

/** A response as its client received it. */
export interface SeenAnswer {
  readonly requestId: string;
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
  /** Whether the connection broke before the response was complete. */
  readonly cut: boolean;
}

export interface SeenCall {
  readonly answer: SeenAnswer;
  /** The queried sources in order, from the usage record. */
  readonly asked: readonly SourceName[];
  /**
   * The sources that received the request, from the providers. They do not see refused connections.
   */
  readonly reached: readonly string[];
  readonly record: UsageRecordView;
  /** Amount in nano-USD from the ledger's entries. Absent until the ledger is read. */
  readonly takenNanoUsd?: bigint;
}

/** The result of a play. */
export interface SeenPlay {
  readonly play: Play;
  readonly calls: readonly SeenCall[];
  /** The health of source `a` after the last request. */
  readonly health: ReadHealth;
}
