import type { UsageEvent } from '@gateway/contracts/messages';

/** An event in the form of the contract, with what was computed of its bytes. */
export interface ReceivedEvent {
  readonly event: UsageEvent;
  /** The packed event. */
  readonly sent: unknown;
  /** SHA-256 of the event's content in hexadecimal: the same for every delivery of it. */
  readonly contentHash: string;
  /** Where the event came from, for the record of an event set aside. */
  readonly origin: EventOrigin;
}

export interface EventOrigin {
  /** Number of the stream's subject. */
  readonly subject: number;
  readonly sequence: number;
}

export type DeadLetterReason =
  | 'unreadable' // no JSON, or not the form of an event
  | 'other_content' // same id and rank as a record, but not the same content
  | 'other_account' // the id belongs to a record of another account
  | 'amount' // the amount is not what usage and price give
  | 'contradiction' // parts of the event contradict each other
  | 'bounds' // a balance would leave its bounds
  | 'no_partition' // the month of its id was dropped, or is not real
  | 'refused_by_database';

/** An event that cannot become a record, kept for a person to look at. */
export interface DeadLetter {
  readonly contentHash: string;
  readonly requestId: string | null;
  readonly account: string | null;
  readonly origin: EventOrigin;
  readonly reason: DeadLetterReason;
  readonly detail: string;
  readonly event: Buffer;
}
