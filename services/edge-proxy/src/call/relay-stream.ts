import type { GatewayError } from '@gateway/contracts/errors';
import { FrameOverflow, FrameSplitter, type Frame } from '../domain/event-stream.js';
import type { AnswerReader, StreamMeter, StreamMeterOptions } from '../domain/formats/meter.js';
import type { ClientAnswer } from '../ports.js';
import type { AnswerRelay, RelayEvents } from './delivery.js';

/** Comments before the first event are kept back up to this size; with more of them the stream counts as begun. */
const COMMENT_BYTES_MAX = 64 * 1024;
const LF = 0x0a;
const CR = 0x0d;
const NOTHING = Buffer.alloc(0);

export interface StreamRelayParts {
  readonly answer: ClientAnswer;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly reader: AnswerReader;
  readonly metering: StreamMeterOptions;
  /** The gateway's id: a cut stream's ending names it. */
  readonly requestId: string;
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
  #hasEvent = false;
  /** The final marker and what came with it, while its last CR may be half of a CRLF. */
  #lastPiece: Buffer | null = null;
  /** Of the frame before. */
  #hasPassed = true;
  #endedInCr = false;
  #isOver = false;
  hasBegun = false;

  constructor(parts: StreamRelayParts) {
    this.#parts = parts;
    this.#meter = parts.reader.streamMeter(parts.metering);
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#lastPiece !== null) return this.#completeLine(this.#lastPiece, chunk);
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
    if (this.#lastPiece !== null) return this.#finish('complete', this.#lastPiece, null);
    const rest = this.#splitter.end();
    if (rest !== null) this.#relay([rest]);
    if (this.#isOver) return;
    if (this.#hasEvent) this.#finish('complete', null, null);
    else this.#parts.events.unusable();
  }

  stop(how: 'client_left' | 'cut', error: GatewayError | null): void {
    if (this.#isOver) return;
    if (this.#lastPiece === null) this.#finish(how, null, error);
    else this.#finish('complete', this.#lastPiece, null);
  }

  #relay(frames: readonly Frame[]): void {
    const passing: Buffer[] = [];
    for (const [index, frame] of frames.entries()) {
      const { pass, final, providerError } = this.#meter.see(frame);
      const bytes = this.#passingOf(frame, pass);
      if (frame.data !== null) this.#hasEvent = true;
      if (final) {
        this.#send(passing);
        const more = frames.slice(index + 1).map((each) => each.bytes);
        const piece = more.length === 0 ? bytes : Buffer.concat([bytes, ...more]);
        if (this.#splitter.mayGetLf) this.#lastPiece = piece;
        else this.#finish('complete', piece, null);
        return;
      }
      if (bytes.length > 0) passing.push(bytes);
      if (providerError) {
        this.#send(passing);
        return this.#finish('cut', null, null);
      }
    }
    this.#send(passing);
  }

  /** What goes to the client of a frame. The LF of a CRLF that was cut in two before it goes with the frame before. */
  #passingOf({ bytes }: Frame, pass: boolean): Buffer {
    const beginsLate = this.#endedInCr && bytes[0] === LF;
    const hasPassed = this.#hasPassed;
    this.#hasPassed = pass;
    this.#endedInCr = bytes[bytes.length - 1] === CR;
    if (!beginsLate || hasPassed === pass) return pass ? bytes : NOTHING;
    return hasPassed ? bytes.subarray(0, 1) : bytes.subarray(1);
  }

  #completeLine(piece: Buffer, chunk: Buffer): void {
    this.#finish('complete', chunk[0] === LF ? Buffer.concat([piece, chunk.subarray(0, 1)]) : piece, null);
  }

  #send(frames: Buffer[]): void {
    if (!this.hasBegun && !this.#mayBegin(frames)) return;
    const bytes = frames.length === 1 ? frames[0] : Buffer.concat(frames);
    if (bytes === undefined || bytes.length === 0) return;
    if (!this.#parts.answer.write(bytes)) this.#parts.events.pause();
  }

  /** The first event opens the answer; what came before it goes out in front of it. */
  #mayBegin(frames: Buffer[]): boolean {
    for (const bytes of frames) this.#keptBytes += bytes.length;
    if (!this.#hasEvent && this.#keptBytes <= COMMENT_BYTES_MAX) {
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
    const delivery = { ended, meter: this.#meter.result(), lastPiece, error };
    const tellsError = ended === 'cut' && error !== null;
    this.#parts.events.ended(
      tellsError ? { ...delivery, cutEnding: this.#meter.cutEnding(error, this.#parts.requestId) } : delivery,
    );
  }
}
