import type { BucketEpochs } from '@gateway/contracts/messages';
import type { AdmissionDesk } from '../admission/ask-admission.js';
import type { EdgeClock } from '../admission/edge-clock.js';
import type { GateTokens } from '../admission/gate-tokens.js';
import type { Beat, BusLine, Verdict } from '../ports.js';
import { cutParts } from './cut-parts.js';
import type { HeldCall, RunningCalls } from './running-calls.js';

/** Beats whose verdict may still come. */
const REMEMBERED_BEATS_MAX = 8;
/** What a part has beside its calls, releases and tokens. */
const PART_HEAD_BYTES = 512;
/** A gate token with the number of its bucket; the longest that a message may carry. */
const TOKEN_BYTES = 192;

export interface BeatsParts {
  readonly edge: string;
  readonly everyMs: number;
  readonly bus: Pick<BusLine, 'storeBeat'>;
  readonly clock: EdgeClock;
  readonly tokens: GateTokens;
  readonly desk: AdmissionDesk;
  readonly running: RunningCalls;
  readonly monotonicMs: () => number;
  readonly onFailed: () => void;
}

interface SentBeat {
  readonly at: number;
  /** The calls of each chunk. */
  readonly chunks: readonly (readonly HeldCall[])[];
}

/**
 * Tells admission what runs here, every `everyMs`, when idle too, and takes its replies
 * (docs/protocol.md#r5).
 */
export class Beats {
  readonly #parts: BeatsParts;
  readonly #sent = new Map<number, SentBeat>();
  readonly #timer: NodeJS.Timeout;
  #n = 0;
  #isLast = false;

  constructor(parts: BeatsParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => void this.beat(), parts.everyMs).unref();
  }

  /** Resolves when all chunks are stored or have failed; a failed beat is followed by the next one. */
  async beat(): Promise<void> {
    const { parts, chunks } = this.#compose();
    const stores = parts.map((part) => this.#parts.bus.storeBeat(part).catch(() => this.#parts.onFailed()));
    this.#remember({ at: this.#parts.monotonicMs(), chunks });
    await Promise.all(stores);
  }

  /** Admission restores buckets and asks for a beat that quotes their new tokens. */
  report(tokens: BucketEpochs): void {
    for (const { bucket, token } of tokens) this.#parts.tokens.note(bucket, token);
    if (!this.#isLast) void this.beat();
  }

  verdict(verdict: Verdict): void {
    const beat = this.#sent.get(verdict.n);
    if (beat !== undefined) this.#parts.clock.correct(verdict.now, this.#parts.monotonicMs() - beat.at);
    const tags = new Map<number, string>();
    for (const { bucket, token } of verdict.tokens) {
      if (this.#parts.tokens.note(bucket, token)) tags.set(bucket, token);
    }
    for (const call of beat?.chunks[verdict.chunk] ?? []) call.tag = tags.get(call.bucket) ?? call.tag;
    for (const id of verdict.abort) this.#parts.running.abort(id, 'verdict');
    this.#parts.desk.releasesAnswered(verdict.released);
  }

  /** The last beat of this edge. It calls itself that only if nothing runs and nothing is unreleased. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isLast = true;
    await this.beat();
  }

  #compose(): { parts: Beat[]; chunks: HeldCall[][] } {
    const running = this.#parts.running.all();
    const releases = this.#parts.desk.unansweredReleases();
    const tokens = this.#parts.tokens.all();
    const inAll = PART_HEAD_BYTES + TOKEN_BYTES * tokens.length;
    const chunks = cutParts(running, ({ hold }) => hold, { each: TOKEN_BYTES, inAll });
    const releaseParts = cutParts(releases, (release) => release, { each: 0, inAll });
    const count = Math.max(1, chunks.length + releaseParts.length);
    this.#n += 1;
    const parts = Array.from({ length: count }, (_unused, chunk): Beat => ({
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

  #remember(beat: SentBeat): void {
    this.#sent.set(this.#n, beat);
    this.#sent.delete(this.#n - REMEMBERED_BEATS_MAX);
  }
}
