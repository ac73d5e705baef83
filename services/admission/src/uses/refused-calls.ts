import { type BatchAnswer, REFUSED_IDS_MAX, REFUSED_ROWS_MAX } from '@gateway/contracts/messages';
import { counter, type Timer } from '@gateway/service-kit';
import type { KeyReference } from '../records/record-cache.js';
import type { Ports, RefusalCount } from '../ports.js';

/**
 * Rows that wait to be reported, each at most some 500 bytes. Beyond this limit only existing rows
 * are counted up.
 */
const ROWS_MAX = 10_000;
/** Minimum interval of reports. */
const PUBLISH_MS = 2_000;
const MINUTE_MS = 60_000;

interface Waiting extends RefusalCount {
  /** Start of the minute, Redis time in ms. */
  readonly minute: number;
  count: number;
}

/**
 * Counts refused calls by minute, account, key and code, and reports them to billing periodically,
 * so that customers and operators can see them. Decisions do not depend on them: if the process is
 * killed, unreported counts are lost.
 */
export class RefusedCalls {
  #rows = new Map<string, Waiting>();
  #timer: Timer | undefined;

  constructor(private readonly ports: Pick<Ports, 'listeners' | 'clock'>) {}

  start(): void {
    this.#timer = this.ports.clock.timers.setTicker(PUBLISH_MS, () => this.publish());
  }

  /** Stops the timer and reports the remaining rows. */
  stop(): void {
    this.#timer?.cancel();
    this.publish();
  }

  /** Counts the answer if it is a refusal. */
  note({ account, key }: KeyReference, answer: BatchAnswer): void {
    if (answer.kind !== 'refused') return;
    const now = this.ports.clock.now();
    const minute = now - (now % MINUTE_MS);
    const { code } = answer;
    const name = nameOf(minute, account, key, code);
    const known = this.#rows.get(name);
    if (known === undefined) {
      this.#keep(name, { minute, account, key, code, count: 1, lastIds: [answer.id] });
      return;
    }
    known.count += 1;
    known.lastIds.push(answer.id);
    if (known.lastIds.length > REFUSED_IDS_MAX) known.lastIds.shift();
  }

  /**
   * Reports all rows since the last report. Rows that could not be sent are kept for the next one.
   */
  publish(): void {
    const rows = this.#rows;
    this.#rows = new Map();
    for (const [minute, some] of byMinute(rows.values())) {
      for (let from = 0; from < some.length; from += REFUSED_ROWS_MAX) {
        const chunk = some.slice(from, from + REFUSED_ROWS_MAX);
        if (this.ports.listeners.callsRefused(minute, chunk)) continue;
        for (const row of chunk) {
          this.#keep(nameOf(minute, row.account, row.key, row.code), { minute, ...row });
        }
      }
    }
  }

  #keep(name: string, row: Waiting): void {
    if (this.#rows.size < ROWS_MAX) this.#rows.set(name, row);
    else refusalsDropped.add(row.count);
  }
}

function nameOf(minute: number, account: string, key: string, code: string): string {
  return `${minute}|${account}|${key}|${code}`;
}

function byMinute(rows: Iterable<Waiting>): Map<number, RefusalCount[]> {
  const minutes = new Map<number, RefusalCount[]>();
  for (const { minute, ...row } of rows) {
    const known = minutes.get(minute);
    if (known) known.push(row);
    else minutes.set(minute, [row]);
  }
  return minutes;
}

export const refusalsDropped = counter(
  'gateway_admission_refusals_dropped_total',
  'Refused calls that are not reported to billing because too many waited',
);
