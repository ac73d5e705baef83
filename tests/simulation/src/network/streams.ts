import {
  listRunningCalls,
  type HeartbeatPosition,
  type StoredHeartbeat,
} from '@gateway/admission/heartbeats/last-heartbeats-rules.js';
import type { Heartbeat } from '@gateway/admission/ports.js';
import type { KeptPosition } from '@gateway/billing/recovery/lost-commits-rules.js';
import type { StreamState } from '@gateway/billing/stream/progress-rules.js';
import type { Host } from '../time/host.js';
import type { VirtualTime } from '../time/virtual-time.js';

/** Time after which a message that was not acknowledged is delivered again. */
const ACK_WAIT_MS = 30_000;

export interface StoredUsage {
  readonly sequence: number;
  readonly subject: number;
  readonly data: Buffer;
  readonly storedAtMs: number;
  acknowledged: boolean;
  /** Earliest time of the next delivery. */
  notBefore: number;
}

/** The streams `USAGE` and `HEARTBEATS`. They never lose a stored message. */
export class Streams {
  readonly usage: StoredUsage[] = [];
  /** The position that billing stores outside the ledger's database. */
  kept: KeptPosition | null = null;
  readonly #heartbeats = new Map<string, StoredHeartbeat>();
  readonly #listeners: (() => void)[] = [];
  #heartbeatsStored = 0;
  /** Calls that a stored heartbeat has named. */
  readonly listed = new Set<string>();

  constructor(
    private readonly time: VirtualTime,
    /** The host that they run on. */
    readonly host: Host,
  ) {}

  storeUsage(subject: number, data: Buffer): void {
    const sequence = this.usage.length + 1;
    this.usage.push({ sequence, subject, data, storedAtMs: this.time.now, acknowledged: false, notBefore: 0 });
    for (const listener of this.#listeners) listener();
  }

  /** Adds a listener for stored messages. */
  onStored(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Returns messages that may be delivered now and reserves them for the ack wait. */
  take(subject: number, max: number): StoredUsage[] {
    const free = this.usage.filter(
      (message) => message.subject === subject && !message.acknowledged && message.notBefore <= this.time.now,
    );
    const taken = free.slice(0, max);
    for (const message of taken) message.notBefore = this.time.now + ACK_WAIT_MS;
    return taken;
  }

  /** Returns the sequence up to which all messages of a subject are acknowledged. */
  acknowledged(subject: number): number {
    const open = this.usage.find((message) => message.subject === subject && !message.acknowledged);
    return open === undefined ? this.usage.length : open.sequence - 1;
  }

  message(sequence: number, subject?: number): StoredUsage | null {
    const at = (message: StoredUsage): boolean =>
      subject === undefined
        ? message.sequence === sequence
        : message.sequence >= sequence && message.subject === subject;
    return this.usage.find(at) ?? null;
  }

  facts(): StreamState {
    const [first, last] = [this.usage[0], this.usage.at(-1)];
    return {
      firstSequence: 1,
      lastSequence: this.usage.length,
      firstAtMs: first?.storedAtMs ?? null,
      lastAtMs: last?.storedAtMs ?? null,
      filled: 0,
    };
  }

  /** Stores a heartbeat, unless a later one of its edge was stored before. */
  storeHeartbeat(heartbeat: Heartbeat, place: string): void {
    const part = `${heartbeat.edge}.${'names' in heartbeat ? 'short' : 'full'}.${place}`;
    this.#heartbeatsStored += 1;
    if ((this.#heartbeats.get(part)?.heartbeat.n ?? 0) < heartbeat.n)
      this.#heartbeats.set(part, { heartbeat, storedAtMs: this.time.now, sequence: this.#heartbeatsStored });
    for (const { id } of listRunningCalls(heartbeat)) this.listed.add(id);
  }

  /** @param edge returns only the heartbeats of this edge */
  lastHeartbeats(edge?: string): StoredHeartbeat[] {
    const all = [...this.#heartbeats.values()];
    const kept = all.filter(({ heartbeat }) => edge === undefined || heartbeat.edge === edge);
    return JSON.parse(JSON.stringify(kept)) as StoredHeartbeat[];
  }

  heartbeatMarks(): HeartbeatPosition[] {
    return [...this.#heartbeats.values()].map(({ heartbeat: { edge }, storedAtMs, sequence }) => {
      return { edge, storedAtMs, sequence };
    });
  }

  forget(edge: string, upToSequence: number): void {
    for (const [part, { heartbeat, sequence }] of this.#heartbeats)
      if (heartbeat.edge === edge && sequence <= upToSequence) this.#heartbeats.delete(part);
  }

  /** Returns the time when the edge's last heartbeat was stored, or -Infinity. */
  lastHeartbeatAt(edge: string): number {
    const times = ['short', 'full'].map((kind) => this.#heartbeats.get(`${edge}.${kind}.0`)?.storedAtMs);
    return Math.max(...times.map((at) => at ?? -Infinity));
  }
}
