import type { BucketEpochs } from '@gateway/contracts/messages';
import { SingleFlight } from '@gateway/service-kit';
import type { AdmissionClient } from '../admission/admission-client.js';
import type { EdgeClock } from '../admission/edge-clock.js';
import type { EpochTracker } from '../admission/epoch-tracker.js';
import type { Heartbeat, BusClient, HeartbeatReply } from '../ports.js';
import { cutParts } from './cut-parts.js';
import type { HeldCall, RunningCalls } from './running-calls.js';

/** Replies to older heartbeats are ignored. */
const REMEMBERED_HEARTBEATS_MAX = 8;
/** Bytes of a part besides its calls, releases and epochs. */
const PART_HEAD_BYTES = 512;
/** Bytes of an epoch and its bucket's number, at most. */
const TOKEN_BYTES = 192;

export interface HeartbeatsParts {
  readonly edge: string;
  readonly everyMs: number;
  readonly bus: Pick<BusClient, 'storeHeartbeat'>;
  readonly clock: EdgeClock;
  readonly epochs: EpochTracker;
  readonly admissionClient: AdmissionClient;
  readonly running: RunningCalls;
  readonly monotonicMs: () => number;
  readonly onFailed: () => void;
}

interface SentHeartbeat {
  readonly at: number;
  /** The calls of each chunk. */
  readonly chunks: readonly (readonly HeldCall[])[];
}

/**
 * Sends admission the running calls every `everyMs` milliseconds, also when there are none, and
 * handles its replies (docs/protocol.md#r5).
 */
export class Heartbeats {
  readonly #parts: HeartbeatsParts;
  readonly #sent = new Map<number, SentHeartbeat>();
  readonly #timer: NodeJS.Timeout;
  #n = 0;
  #isLast = false;
  readonly #flights = new SingleFlight<void>();
  /** The epoch of each bucket in the last heartbeat that was stored whole. */
  #quoted: ReadonlyMap<number, string> = new Map();

  constructor(parts: HeartbeatsParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => void this.send(), parts.everyMs).unref();
  }

  /**
   * Sends a heartbeat when the one under way, if any, has ended; who asks meanwhile shares it.
   * Resolves when all its chunks are stored or have failed. The next heartbeat makes up for a
   * failure.
   */
  send(): Promise<void> {
    return this.#flights.follow('', () => this.#store());
  }

  /**
   * Admission restores buckets and needs a heartbeat that carries their new epochs. One that was
   * stored with them is enough: no call of a bucket begins while it is restored
   * (docs/protocol.md#r12).
   */
  onResyncRequest(tokens: BucketEpochs): void {
    const { epochs } = this.#parts;
    for (const { bucket, token } of tokens) epochs.observe(bucket, token);
    const isQuoted = tokens.every(({ bucket }) => this.#quoted.get(bucket) === epochs.current(bucket));
    if (!isQuoted && !this.#isLast) void this.send();
  }

  onReply(reply: HeartbeatReply): void {
    const heartbeat = this.#sent.get(reply.n);
    if (heartbeat !== undefined) this.#parts.clock.correct(reply.now, this.#parts.monotonicMs() - heartbeat.at);
    const tags = new Map<number, string>();
    for (const { bucket, token } of reply.tokens) {
      if (this.#parts.epochs.observe(bucket, token)) tags.set(bucket, token);
    }
    for (const call of heartbeat?.chunks[reply.chunk] ?? []) call.tag = tags.get(call.bucket) ?? call.tag;
    for (const id of reply.abort) this.#parts.running.abort(id, 'admission');
    this.#parts.admissionClient.releasesAnswered(reply.released);
  }

  /**
   * Sends the last heartbeat. It is marked `last` only if no call runs and no release is pending.
   */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isLast = true;
    await this.send();
  }

  async #store(): Promise<void> {
    const { bus, monotonicMs, onFailed } = this.#parts;
    const { parts, chunks } = this.#compose();
    const stores = parts.map((part) =>
      bus.storeHeartbeat(part).then(
        () => true,
        () => (onFailed(), false),
      ),
    );
    this.#remember({ at: monotonicMs(), chunks });
    const isWhole = (await Promise.all(stores)).every(Boolean);
    if (isWhole) this.#quoted = new Map(parts[0]?.tokens.map(({ bucket, token }) => [bucket, token]));
  }

  #compose(): { parts: Heartbeat[]; chunks: HeldCall[][] } {
    const running = this.#parts.running.all();
    const releases = this.#parts.admissionClient.unansweredReleases();
    const tokens = this.#parts.epochs.all();
    const inAll = PART_HEAD_BYTES + TOKEN_BYTES * tokens.length;
    const chunks = cutParts(running, ({ hold }) => hold, { each: TOKEN_BYTES, inAll });
    const releaseParts = cutParts(releases, (release) => release, { each: 0, inAll });
    const count = Math.max(1, chunks.length + releaseParts.length);
    this.#n += 1;
    const parts = Array.from({ length: count }, (_unused, chunk): Heartbeat => ({
      edge: this.#parts.edge,
      n: this.#n,
      chunk,
      chunks: count,
      tokens,
      calls: (chunks[chunk] ?? []).map(({ id, hold, tag, endpoint }) => ({ id, hold, tag, endpoint })),
      releases: releaseParts[chunk - chunks.length] ?? [],
      last: this.#isLast && running.length === 0 && releases.length === 0,
    }));
    return { parts, chunks };
  }

  #remember(heartbeat: SentHeartbeat): void {
    this.#sent.set(this.#n, heartbeat);
    this.#sent.delete(this.#n - REMEMBERED_HEARTBEATS_MAX);
  }
}
