import type { AdmissionFaultCode, AdmitEntry, AdmittedAnswer, RefusalFacts } from '@gateway/contracts/messages';
import type { AdmissionBatch } from '../ports.js';

export type OpenEntry = AdmissionBatch['opens'][number];

export interface Opened {
  readonly kind: 'opened';
  readonly account: string;
}
export interface Refused {
  readonly kind: 'refused';
  readonly row: number;
  readonly facts: RefusalFacts;
}
export interface Faulted {
  readonly kind: 'fault';
  readonly code: AdmissionFaultCode;
}
export type AdmitOutcome = AdmittedAnswer | Refused | Faulted;
export type OpenOutcome = Opened | Refused | Faulted;
export type Outcome = AdmitOutcome | OpenOutcome;

/** One entry that waits for its answer. */
export interface Question {
  readonly entry: OpenEntry | AdmitEntry;
  readonly isAdmit: boolean;
  /** An admission makes a hold, which a release must give back. */
  readonly holds: boolean;
  readonly askedAt: number;
  readonly resolve: (outcome: Outcome) => void;
  /** When it was sent last. Infinity while it waits for the end of this tick. */
  sentAt: number;
  /** Tries that a replica may have received. */
  tries: number;
  /** Replicas that were asked by name. */
  readonly asked: string[];
  /** A replica may have received it. */
  mayHaveArrived: boolean;
  message: SentBatch | null;
}

/** One message whose answers have not all arrived. */
export interface SentBatch {
  readonly sentAt: number;
  unanswered: number;
  /** Ids that it asks to open: their *admit* comes in another message. */
  readonly opened: ReadonlySet<string>;
  close(): void;
}

export const ADMISSION_FAULT: Faulted = { kind: 'fault', code: 'admission_error' };
