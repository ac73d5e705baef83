import type { GatewayError } from '@gateway/contracts/errors';
import { FrameOverflow, FrameSplitter, type Frame } from '../domain/event-stream.js';
import type { AnswerReader, StreamMeter, StreamMeterOptions } from '../domain/formats/meter.js';
import type { ClientAnswer } from '../ports.js';
import type { AnswerRelay, RelayEvents } from './delivery.js';

/** Comments before the first event are kept back up to this size; with more of them the stream counts as begun. */
const COMMENT_BYTES_MAX = 64 * 1024;

export interface StreamRelayParts {
  readonly answer: ClientAnswer;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly reader: AnswerReader;
  readonly metering: StreamMeterOptions;
  readonly events: RelayEvents;
}

/**
 * Relays a stream frame by frame: what arrives together is written together, nothing waits. The final marker is held back
 * as the last piece; the usage frame that only the gateway asked for is taken out.
 */
export class StreamRelay implements AnswerRelay {
  readonly #parts: StreamRelayParts;
  readonly #splitter = new FrameSplitter();
  readonly #meter: StreamMeter;
  /** Frames that were not sent yet: comments before the first event. */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #isOver = false;
  hasBegun = false;

  constructor(parts: StreamRelayParts) {
    this.#parts = parts;
    this.#meter = parts.reader.streamMeter(parts.metering);
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    let frames: Frame[];
    try {
      frames = this.#splitter.push(chunk);
    } catch (error) {
      if (!(error instanceof FrameOverflow)) throw error;
      return this.#parts.events.unusable();
    }
    this.#relay(frames);
  }

  end(): void {
    if (this.#isOver) return;
    const rest = this.#splitter.end();
    if (rest !== null) this.#relay([rest]);
    if (!this.#isOver) this.#finish('complete', null, null);
  }

  stop(how: 'client_left' | 'cut', error: GatewayError | null): void {
    if (!this.#isOver) this.#finish(how, null, error);
  }

  #relay(frames: readonly Frame[]): void {
    const passing: Buffer[] = [];
    let hasEvent = false;
    for (const [index, frame] of frames.entries()) {
      const { pass, final, providerError } = this.#meter.see(frame);
      if (final) {
        this.#send(passing, true);
        const rest = frames.slice(index).map(({ bytes }) => bytes);
        return this.#finish('complete', rest.length === 1 ? frame.bytes : Buffer.concat(rest), null);
      }
      if (pass) passing.push(frame.bytes);
      if (frame.data !== null) hasEvent = true;
      if (providerError) {
        this.#send(passing, true);
        return this.#finish('cut', null, null);
      }
    }
    this.#send(passing, hasEvent);
  }

  #send(frames: Buffer[], hasEvent: boolean): void {
    if (!this.hasBegun && !this.#mayBegin(frames, hasEvent)) return;
    const bytes = frames.length === 1 ? frames[0] : Buffer.concat(frames);
    if (bytes === undefined || bytes.length === 0) return;
    if (!this.#parts.answer.write(bytes)) this.#parts.events.pause();
  }

  /** The first event opens the answer; what came before it goes out in front of it. */
  #mayBegin(frames: Buffer[], hasEvent: boolean): boolean {
    for (const bytes of frames) this.#keptBytes += bytes.length;
    if (!hasEvent && this.#keptBytes <= COMMENT_BYTES_MAX) {
      this.#kept.push(...frames);
      return false;
    }
    frames.unshift(...this.#kept);
    this.#kept = [];
    this.#begin();
    return true;
  }

  #begin(): void {
    this.hasBegun = true;
    this.#parts.answer.begin(200, this.#parts.headers);
    this.#parts.events.begun();
  }

  #finish(ended: 'complete' | 'client_left' | 'cut', lastPiece: Buffer | null, error: GatewayError | null): void {
    this.#isOver = true;
    if (ended === 'complete' && !this.hasBegun) this.#begin();
    this.#parts.events.ended({ ended, meter: this.#meter.result(), lastPiece, error });
  }
}
