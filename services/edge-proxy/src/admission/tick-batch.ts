import type { RefusalCode } from '@gateway/contracts/errors';
import {
  type AdmissionFaultCode,
  type AdmitEntry,
  type AdmittedAnswer,
  BATCH_ENTRIES_MAX,
  type RefusalFacts,
  type ReleaseEntry,
} from '@gateway/contracts/messages';
import type { AdmissionBatch } from '../ports.js';

/**
 * Collects the requests to admission of one tick of the event loop and sends them at its end
 * (docs/decisions/0030-batch-by-event-loop-tick.md).
 */
export class TickBatch {
  readonly #edge: string;
  readonly #send: (batch: AdmissionBatch) => void;
  readonly #tickEnd: TickEnd;
  #queued: AdmissionBatch;
  #isFlushing = false;

  constructor(edge: string, tickEnd: TickEnd, send: (batch: AdmissionBatch) => void) {
    this.#edge = edge;
    this.#tickEnd = tickEnd;
    this.#send = send;
    this.#queued = emptyBatch(edge);
  }

  open(entry: OpenEntry): void {
    this.#queued.opens.push(entry);
    this.#flushSoon();
  }

  admit(entry: AdmitEntry): void {
    this.#queued.admits.push(entry);
    this.#flushSoon();
  }

  /** @param mayWait the release is sent with the next message, or by {@link flush} */
  release(entry: ReleaseEntry, mayWait: boolean): void {
    this.#queued.releases.push(entry);
    if (!mayWait) this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#tickEnd.do(() => this.flush());
  }

  flush(): void {
    this.#isFlushing = false;
    const queued = this.#queued;
    this.#queued = emptyBatch(this.#edge);
    for (const part of splitBatch(queued)) this.#send(part);
  }
}

export function emptyBatch(edge: string): AdmissionBatch {
  return { edge, opens: [], admits: [], releases: [] };
}

/** Splits a batch by the limit of entries: one message except after a burst, none if empty. */
export function splitBatch(batch: AdmissionBatch): AdmissionBatch[] {
  const most = Math.max(batch.opens.length, batch.admits.length, batch.releases.length);
  if (most === 0) return [];
  if (most <= BATCH_ENTRIES_MAX) return [batch];
  const parts: AdmissionBatch[] = [];
  for (let from = 0; from < most; from += BATCH_ENTRIES_MAX) {
    const until = from + BATCH_ENTRIES_MAX;
    parts.push({
      edge: batch.edge,
      opens: batch.opens.slice(from, until),
      admits: batch.admits.slice(from, until),
      releases: batch.releases.slice(from, until),
    });
  }
  return parts;
}

/**
 * Runs work at the end of this tick of the event loop. All messages of one tick are then sent in
 * one write to the bus (docs/decisions/0030-batch-by-event-loop-tick.md), since one write per
 * message costs more than composing the messages.
 */
export class TickEnd {
  #due: (() => void)[] = [];

  do(work: () => void): void {
    if (this.#due.push(work) === 1) setImmediate(() => this.#run());
  }

  /** Runs all work in one callback, since the bus would write between two callbacks. */
  #run(): void {
    const works = this.#due;
    this.#due = [];
    for (const work of works) work();
  }
}

export type OpenEntry = AdmissionBatch['opens'][number];

export interface OpenResult {
  readonly kind: 'opened';
  readonly account: string;
}
export interface RefusalResult {
  readonly kind: 'refused';
  readonly code: RefusalCode;
  readonly facts: RefusalFacts;
}
export interface FaultResult {
  readonly kind: 'fault';
  readonly code: AdmissionFaultCode;
}
export type AdmitOutcome = AdmittedAnswer | RefusalResult | FaultResult;
export type OpenOutcome = OpenResult | RefusalResult | FaultResult;
export type Outcome = AdmitOutcome | OpenOutcome;

/** One entry that waits for its answer. */
export interface PendingRequest {
  readonly entry: OpenEntry | AdmitEntry;
  readonly isAdmit: boolean;
  /** Whether an admission makes a hold, which a release must give back. */
  readonly holds: boolean;
  readonly askedAt: number;
  readonly resolve: (outcome: Outcome) => void;
  /** Time of the last attempt. Infinity while the entry waits for the end of this tick. */
  sentAt: number;
  /** Number of attempts that a replica may have received. */
  tries: number;
  /** Replicas that were tried by name. */
  readonly asked: string[];
  /** Whether a replica may have received it. */
  mayHaveArrived: boolean;
  message: BatchInFlight | null;
}

/** One message whose answers have not all arrived. */
export interface BatchInFlight {
  readonly sentAt: number;
  unanswered: number;
  /** IDs of its *open* entries. Their *admit* entries are in another message. */
  readonly opened: ReadonlySet<string>;
  close(): void;
}

export const ADMISSION_FAULT: FaultResult = { kind: 'fault', code: 'admission_error' };
