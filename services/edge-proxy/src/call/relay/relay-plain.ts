import type { GatewayError } from '@gateway/contracts/errors';
import { toResponseShape, KEPT_ANSWER_BYTES_MAX } from '../../formats/answer-shape.js';
import { hasError } from '../../formats/answer-json.js';
import type { ResponseReader, CountingOptions, MeterResult } from '../../formats/meter.js';
import { JsonReducer } from '../../json/json-reducer.js';
import { HELD_RESPONSES } from '../../memory/held-bytes.js';
import type { ClientResponse } from '../../ports.js';
import { UNUSABLE, type ResponseRelay, type Delivery, type RelayEvents } from './delivery.js';

/**
 * Largest non-streamed body that is held until it is complete. A larger body is relayed while it
 * arrives (docs/behaviour.md#answers), and so is every body while the total of held bodies is at
 * its limit.
 */
const HELD_BYTES_MAX = 1024 * 1024;

const NOTHING_READ: MeterResult = { usage: null, problem: 'absent', deliveredBytes: 0, finished: false };

export interface PlainRelayParts {
  readonly answer: ClientResponse;
  /** Name, value, name, value; without a length. */
  readonly headers: readonly string[];
  /** Content length from the provider; null if it was not sent. */
  readonly contentLength: number | null;
  readonly reader: ResponseReader;
  readonly counting: CountingOptions;
  readonly events: RelayEvents;
  /** Whether a complete body, without its last byte, is sent before its record is stored. */
  readonly sendsEarly: () => boolean;
}

/**
 * Relays a non-streamed response. Nothing is sent before the body is complete or too large to be
 * held, so that a broken connection gives an error and not a truncated 200. A large body is parsed
 * while it is relayed. If it begins with an error, it is withheld and handled like a small error.
 * The last byte is the last chunk: it waits for the record.
 */
export class PlainRelay implements ResponseRelay {
  readonly #parts: PlainRelayParts;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** This body's bytes in {@link HELD_RESPONSES}. */
  #heldBytes = 0;
  /** Parser of a body that is too large to be held; null: the body is held. */
  #reducer: JsonReducer | null = null;
  /** The latest byte of a relayed body, which is held back. */
  #tail: Buffer | null = null;
  #isWithheld = false;
  #isOver = false;
  hasBegun = false;

  constructor(parts: PlainRelayParts) {
    this.#parts = parts;
  }

  /** A held body is not parsed before its end. */
  get hasText(): boolean {
    return this.hasBegun;
  }

  get deliveredBytes(): number {
    return this.#readSoFar().deliveredBytes;
  }

  data(chunk: Buffer): void {
    if (this.#isOver || chunk.length === 0) return;
    if (this.#reducer !== null) return this.#pass(chunk, this.#reducer);
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    if (this.#bytes <= HELD_BYTES_MAX && HELD_RESPONSES.take(chunk.length)) {
      this.#heldBytes += chunk.length;
      return;
    }
    const body = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#releaseHeld();
    this.#reducer = new JsonReducer(toResponseShape(this.#parts.counting.pricing), KEPT_ANSWER_BYTES_MAX);
    this.#pass(body, this.#reducer);
  }

  #pass(chunk: Buffer, reducer: JsonReducer): void {
    reducer.write(chunk);
    if (!this.hasBegun) {
      const answer = reducer.soFar().object;
      this.#isWithheld ||= hasError(answer?.['error']) || answer?.['status'] === 'failed';
      if (this.#isWithheld) return;
      this.#begin(this.#parts.contentLength);
    }
    this.#relay(chunk);
  }

  end(): void {
    if (this.#isOver) return;
    const meter = this.#readWhole();
    const failed = meter.finished ? null : this.#failedBody(meter);
    if (!meter.finished && failed === null) return;
    if (this.#isWithheld && failed === null) return this.#parts.events.incomplete(UNUSABLE);
    this.#isOver = true;
    const over = (): void => this.#releaseHeld();
    if (!this.hasBegun) {
      const body = failed ?? (this.#chunks[0] as Buffer);
      this.#begin(body.length);
      if (this.#parts.sendsEarly()) this.#relay(body);
      else this.#tail = body;
    }
    const delivery: Delivery = { ended: 'complete', meter, lastPiece: this.#tail, error: null, over };
    this.#parts.events.ended(failed === null ? delivery : { ...delivery, failed: true });
  }

  /**
   * The error that is sent to the client; null: nothing is sent, and the attempt has been notified.
   */
  #failedBody({ failure }: MeterResult): Buffer | null {
    const { events } = this.#parts;
    if (failure === undefined) {
      events.incomplete(UNUSABLE);
      return null;
    }
    const relayed = this.hasBegun ? null : failure.relayed;
    return events.providerFailed(failure.reported, relayed !== null) ? relayed : null;
  }

  drop(): void {
    this.#isOver = true;
    this.#releaseHeld();
    this.#chunks = [];
  }

  stop(how: 'client_disconnected' | 'cut', error: GatewayError | null): void {
    if (this.#isOver) return;
    this.drop();
    this.#parts.events.ended({ ended: how, meter: this.#readSoFar(), lastPiece: null, error });
  }

  #begin(length: number | null): void {
    this.hasBegun = true;
    const { answer, headers, events } = this.#parts;
    answer.begin(200, length === null ? headers : [...headers, 'content-length', String(length)]);
    events.begun();
  }

  #releaseHeld(): void {
    HELD_RESPONSES.give(this.#heldBytes);
    this.#heldBytes = 0;
  }

  /** Writes all but the last byte, which may be the end of the body. */
  #relay(chunk: Buffer): void {
    const head = chunk.subarray(0, -1);
    const bytes = this.#tail === null ? head : Buffer.concat([this.#tail, head]);
    this.#tail = chunk.subarray(-1);
    if (bytes.length > 0 && !this.#parts.answer.write(bytes)) this.#parts.events.pause();
  }

  #readWhole(): MeterResult {
    const { reader, counting } = this.#parts;
    if (this.#reducer !== null) return reader.readPlain(this.#reducer, counting);
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [body];
    return reader.readPlain(body, counting);
  }

  /** Reads a body that stops here. If the body was held, no byte of it was delivered. */
  #readSoFar(): MeterResult {
    if (this.#reducer === null || !this.hasBegun) return NOTHING_READ;
    const { failure: _failure, ...read } = this.#parts.reader.readPlain(this.#reducer.soFar(), this.#parts.counting);
    return { ...read, finished: false };
  }
}
