import { BATCH_ENTRIES_MAX, type AdmitEntry, type ReleaseEntry } from '@gateway/contracts/messages';
import type { AdmissionBatch } from '../ports.js';
import type { TickEnd } from './tick-end.js';
import type { OpenEntry } from './question.js';

/**
 * Collects what one tick of the event loop asks of admission and sends it at the end of the tick
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

  release(entry: ReleaseEntry): void {
    this.#queued.releases.push(entry);
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#tickEnd.do(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    const queued = this.#queued;
    this.#queued = emptyBatch(this.#edge);
    for (const part of splitBatch(queued)) this.#send(part);
  }
}

export function emptyBatch(edge: string): AdmissionBatch {
  return { edge, opens: [], admits: [], releases: [] };
}

/**
 * Splits a batch by the bound on entries: one message except after a burst, none if it is empty.
 */
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
