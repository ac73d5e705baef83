import { USAGE_GROUPS_TOTAL, usageGroupOfShard } from '@gateway/contracts/ids';
import {
  formatPackedEvent,
  USAGE_EVENTS_MAX,
  USAGE_MESSAGE_BYTES_MAX,
  usageEvents,
  type UsageEvent,
} from '@gateway/contracts/messages';
import { nextDelayMs, OnDemandTimer, pause, type TimerClock } from '@gateway/service-kit';
import type { TickEnd } from '../admission/tick-batch.js';
import type { BusClient } from '../ports.js';
import type { UnstoredEvent } from './unstored-line.js';

/**
 * Age of an unstored event that stops admissions until all events are stored (docs/protocol.md#r3).
 */
const UNSTORED_AGE_MS_MAX = 2_000;
/** Milliseconds between two checks of that age, and so its precision. */
const AGE_CHECK_MS = 100;
/** Limits for the unstored events of one edge. Above them it admits no call. */
const UNSTORED_BYTES_MAX = 64 * 1024 * 1024;
const UNSTORED_EVENTS_MAX = 20_000;
/** Delays between attempts to store one message. */
const RETRY_BASE_MS = 50;
const RETRY_MAX_MS = 2_000;

/** The bytes of a packed message before, after and between its events. */
const START = Buffer.from(`[${usageEvents.version},[`);
const END = Buffer.from(']]');
const COMMA = Buffer.from(',');

interface FrozenEvent extends UnstoredEvent {
  readonly at: number;
  readonly stored: () => void;
}

/** The events for one subject of the stream. */
interface Group {
  readonly number: number;
  waiting: FrozenEvent[];
  inFlight: readonly FrozenEvent[] | null;
  /** Whether its next message is sent at the end of this tick. */
  isDue: boolean;
}

export interface JournalParts {
  readonly bus: Pick<BusClient, 'storeUsage'>;
  readonly tickEnd: TickEnd;
  /**
   * Most bytes of unstored events. Above it no call is admitted. Default: {@link
   * UNSTORED_BYTES_MAX}.
   */
  readonly bytesMax?: number;
  /** Number of subjects over which events are spread. Default: {@link USAGE_GROUPS_TOTAL}. */
  readonly groups?: number;
  readonly timers: TimerClock;
  readonly random: () => number;
  /** Called with the bus's error code after each failed attempt. */
  readonly onFailedTry: (code: string) => void;
}

/**
 * Stores usage events in the stream, and keeps each one until it is stored. Each group has at most
 * one message in flight. Events that arrive meanwhile, or in the same tick of the event loop, are
 * collected for the next one (docs/protocol.md#r4). A message is encoded once, so a retry sends the
 * same bytes.
 */
export class UsageJournal {
  readonly #parts: JournalParts;
  readonly #bytesMax: number;
  readonly #groups: readonly Group[];
  #events = 0;
  #bytes = 0;
  #isLate = false;
  readonly #ageChecks: OnDemandTimer;
  /** Aborted and replaced to end the retry delays of all groups. */
  #retries = new AbortController();
  readonly #idlers = new Set<() => void>();

  constructor(parts: JournalParts) {
    this.#parts = parts;
    this.#bytesMax = parts.bytesMax ?? UNSTORED_BYTES_MAX;
    const checkAge = (): boolean => (this.#isLate ||= this.oldestAgeMs() > UNSTORED_AGE_MS_MAX);
    this.#ageChecks = new OnDemandTimer(AGE_CHECK_MS, () => this.#events > 0, checkAge, parts.timers);
    const length = parts.groups ?? USAGE_GROUPS_TOTAL;
    this.#groups = Array.from({ length }, (_, number) => ({ number, waiting: [], inFlight: null, isDue: false }));
  }

  get unstored(): number {
    return this.#events;
  }

  /** Returns all unstored events, in order within each group. */
  unstoredEvents(): UnstoredEvent[] {
    return this.#groups.flatMap(({ inFlight, waiting }) => [...(inFlight ?? []), ...waiting]);
  }

  /**
   * Adds an event, which must not be changed afterwards. `stored` is called once, when the stream
   * has the event.
   */
  append(shard: number, event: UsageEvent, stored: () => void): void {
    this.appendFrozen({ shard, json: Buffer.from(formatPackedEvent(event)) }, stored);
  }

  /** Adds an event that was already encoded, by this edge or another one. */
  appendFrozen({ shard, json }: UnstoredEvent, stored: () => void): void {
    const group = this.#groups[usageGroupOfShard(shard, this.#groups.length)];
    if (group === undefined) throw new RangeError(`unknown shard ${shard}`);
    this.#events += 1;
    this.#bytes += json.length;
    group.waiting.push({ shard, json, at: this.#parts.timers.monotonicMs(), stored });
    this.#ageChecks.begin();
    this.#storeSoon(group);
  }

  /**
   * Returns false while an event has been unstored for more than 2 s, and from then on until all
   * events are stored. Also returns false at the limits of memory.
   */
  mayAdmit(): boolean {
    return !this.#isLate && this.#events < UNSTORED_EVENTS_MAX && this.#bytes < this.#bytesMax;
  }

  /** Returns the age of the oldest unstored event, or 0 if there is none. */
  oldestAgeMs(): number {
    let oldest = Infinity;
    for (const { inFlight, waiting } of this.#groups) {
      const first = inFlight?.[0] ?? waiting[0];
      if (first !== undefined && first.at < oldest) oldest = first.at;
    }
    return oldest === Infinity ? 0 : this.#parts.timers.monotonicMs() - oldest;
  }

  /** Ends all retry delays. Called when the bus is connected again. */
  retryNow(): void {
    this.#retries.abort();
    this.#retries = new AbortController();
  }

  /** Resolves when all is stored, or after `timeoutMs`, with the number of unstored events. */
  async idle(timeoutMs: number): Promise<number> {
    if (this.#events === 0) return 0;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#idlers.delete(done);
        resolve();
      };
      const timer = this.#parts.timers.setTimer(timeoutMs, done);
      this.#idlers.add(done);
    });
    return this.#events;
  }

  /** At the end of the tick, together with the call's release and other groups' messages. */
  #storeSoon(group: Group): void {
    if (group.isDue || group.inFlight !== null || group.waiting.length === 0) return;
    group.isDue = true;
    this.#parts.tickEnd.do(() => {
      group.isDue = false;
      void this.#storeNext(group);
    });
  }

  async #storeNext(group: Group): Promise<void> {
    const batch = takeBatch(group);
    group.inFlight = batch;
    await this.#storeUntilStored(group.number, messageOf(batch));
    group.inFlight = null;
    this.#forget(batch);
    for (const { stored } of batch) stored();
    if (this.#events === 0) {
      this.#isLate = false;
      for (const idler of [...this.#idlers]) idler();
    }
    this.#storeSoon(group);
  }

  /** Retries without limit, with the same bytes each time. */
  async #storeUntilStored(group: number, message: Buffer): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#parts.bus.storeUsage(group, message);
        return;
      } catch (error) {
        this.#parts.onFailedTry(codeOf(error));
        const delayMs = nextDelayMs(attempt, {
          baseMs: RETRY_BASE_MS,
          maxMs: RETRY_MAX_MS,
          random: this.#parts.random,
        });
        await pause(delayMs, this.#retries.signal, this.#parts.timers);
      }
    }
  }

  #forget(batch: readonly FrozenEvent[]): void {
    this.#events -= batch.length;
    for (const { json } of batch) this.#bytes -= json.length;
  }
}

/**
 * Takes the events of the next message, oldest first: at most 100, at most 256 KB, and at least one
 * if any is waiting.
 */
function takeBatch(group: Group): FrozenEvent[] {
  let bytes = START.length + END.length;
  let count = 0;
  for (const event of group.waiting) {
    bytes += event.json.length + COMMA.length;
    if (count > 0 && (count === USAGE_EVENTS_MAX || bytes > USAGE_MESSAGE_BYTES_MAX)) break;
    count += 1;
  }
  return group.waiting.splice(0, count);
}

function messageOf(batch: readonly FrozenEvent[]): Buffer {
  const pieces: Buffer[] = [];
  for (const { json } of batch) pieces.push(pieces.length === 0 ? START : COMMA, json);
  pieces.push(END);
  return Buffer.concat(pieces);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'fault';
}
