import type { UsageEvent } from '@gateway/contracts/messages';
import type { SettledMessage } from '../stream/progress-rules.js';

/** An event that matches the contract, with its hash and origin. */
export interface ReceivedEvent {
  readonly event: UsageEvent;
  readonly sent: unknown;
  /** SHA-256 of the event's content in hexadecimal; equal for every delivery of the event. */
  readonly contentHash: string;
  /** Stored with a dead letter of the event. */
  readonly origin: EventOrigin;
}

export interface EventOrigin {
  /** Number of the stream's subject. */
  readonly subject: number;
  readonly sequence: number;
}

export type DeadLetterReason =
  | 'unreadable' // not JSON, or not the form of an event
  | 'other_content' // same ID and rank as a record, but other content
  | 'other_account' // the ID belongs to a record of another account
  | 'amount' // the amount differs from the rated usage
  | 'contradiction' // parts of the event contradict each other
  | 'bounds' // a balance would exceed its bounds
  | 'no_partition' // the month of its ID was dropped, or is invalid
  | 'refused_by_database';

/** An event that cannot become a record, stored for an operator. */
export interface DeadLetter {
  readonly contentHash: string;
  readonly requestId: string | null;
  readonly account: string | null;
  readonly origin: EventOrigin;
  readonly reason: DeadLetterReason;
  readonly detail: string;
  readonly event: Buffer;
}

/** Events that are settled in one transaction. */
export interface UsageBatch {
  readonly received: readonly ReceivedEvent[];
  /** Messages or events that could not be read. */
  readonly deadLetters: readonly DeadLetter[];
  /** Messages whose events are all in this batch or already settled. */
  readonly applied: readonly SettledMessage[];
}
