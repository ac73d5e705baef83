import {
  runningCalls,
  type HeartbeatMark,
  type KeptHeartbeat,
} from '@gateway/admission/heartbeats/last-heartbeats-rules.js';
import type { Heartbeat } from '@gateway/admission/ports.js';
import type { KeptPosition } from '@gateway/billing/usage/lost-commits-rules.js';
import type { StreamState } from '@gateway/billing/usage/progress-rules.js';
import type { Host } from '../time/host.js';
import type { VirtualTime } from '../time/virtual-time.js';

/** A stored message that nobody has acknowledged is delivered again after this. */
const ACK_WAIT_MS = 30_000;

export interface StoredUsage {
  readonly sequence: number;
  readonly subject: number;
  readonly data: Buffer;
  readonly storedAtMs: number;
  acknowledged: boolean;
  /** Not delivered before. */
  notBefore: number;
}

/** What was sent over the bus for heartbeats. */
export interface HeartbeatTraffic {
  /** Messages that edges stored, and their bytes as JSON. */
  stored: number;
  storedBytes: number;
  /** Messages that replicas of admission read of the stream, and their bytes as JSON. */
  read: number;
  readBytes: number;
  /** Resync requests that replicas published. */
  requests: number;
}

/** The streams `USAGE` and `BEATS`: what they have stored they keep. */
export class Streams {
  readonly usage: StoredUsage[] = [];
  /** What billing keeps of its ledger, where the ledger's database is not. */
  kept: KeptPosition | null = null;
  readonly #heartbeats = new Map<string, KeptHeartbeat>();
  readonly #listeners = new Set<() => void>();
  readonly traffic: HeartbeatTraffic = { stored: 0, storedBytes: 0, read: 0, readBytes: 0, requests: 0 };
  /** Calls that some stored heartbeat has named. */
  readonly listed = new Set<string>();

  constructor(
    private readonly time: VirtualTime,
    /** Where they live. */
    readonly host: Host,
  ) {}

  storeUsage(subject: number, data: Buffer): void {
    const sequence = this.usage.length + 1;
    this.usage.push({ sequence, subject, data, storedAtMs: this.time.now, acknowledged: false, notBefore: 0 });
    for (const listener of this.#listeners) listener();
  }

  /** Hears of each stored message. */
  onStored(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Messages that may be delivered now; they are somebody's until the wait for their
   * acknowledgement is over.
   */
  take(subject: number, max: number): StoredUsage[] {
    const free = this.usage.filter(
      (message) => message.subject === subject && !message.acknowledged && message.notBefore <= this.time.now,
    );
    const taken = free.slice(0, max);
    for (const message of taken) message.notBefore = this.time.now + ACK_WAIT_MS;
    return taken;
  }

  /** Up to where all messages of a subject are acknowledged; what is of others does not count. */
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

  /**
   * An edge's connection keeps its order: a heartbeat that the network made late never replaces one
   * that was sent after it.
   */
  storeHeartbeat(heartbeat: Heartbeat, place: string): void {
    const part = `${heartbeat.edge}.${'names' in heartbeat ? 'short' : 'full'}.${place}`;
    this.traffic.stored += 1;
    if ((this.#heartbeats.get(part)?.heartbeat.n ?? 0) < heartbeat.n)
      this.#heartbeats.set(part, { heartbeat, storedAtMs: this.time.now, sequence: this.traffic.stored });
    for (const { id } of runningCalls(heartbeat)) this.listed.add(id);
  }

  /** @param edge only of this one */
  lastHeartbeats(edge?: string): KeptHeartbeat[] {
    const all = [...this.#heartbeats.values()];
    const kept = all.filter(({ heartbeat }) => edge === undefined || heartbeat.edge === edge);
    const text = JSON.stringify(kept);
    this.traffic.read += kept.length;
    this.traffic.readBytes += text.length;
    return JSON.parse(text) as KeptHeartbeat[];
  }

  heartbeatMarks(): HeartbeatMark[] {
    return [...this.#heartbeats.values()].map(({ heartbeat: { edge }, storedAtMs, sequence }) => {
      return { edge, storedAtMs, sequence };
    });
  }

  forget(edge: string, upToSequence: number): void {
    for (const [part, { heartbeat, sequence }] of this.#heartbeats)
      if (heartbeat.edge === edge && sequence <= upToSequence) this.#heartbeats.delete(part);
  }

  /** When the edge's last heartbeat was stored; -Infinity: never. */
  lastHeartbeatAt(edge: string): number {
    const times = ['short', 'full'].map((kind) => this.#heartbeats.get(`${edge}.${kind}.0`)?.storedAtMs);
    return Math.max(...times.map((at) => at ?? -Infinity));
  }
}
