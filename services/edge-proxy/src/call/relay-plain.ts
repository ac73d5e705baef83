import type { GatewayError } from '@gateway/contracts/errors';
import type { AnswerReader, Counting, MeterResult } from '../domain/formats/meter.js';
import { HELD_ANSWERS, METERED_ANSWERS } from '../memory/held-bytes.js';
import type { ClientAnswer } from '../ports.js';
import { UNUSABLE, type AnswerRelay, type Delivery, type RelayEvents } from './delivery.js';

/**
 * A plain body is held until it is complete up to this size; a larger one is relayed
 * (docs/behaviour.md#answers), and so is one that comes while all held ones have reached their
 * bound.
 */
const HELD_BYTES_MAX = 1024 * 1024;
/**
 * Bytes of a relayed body that are kept to be read for its usage; of a longer one the usage is
 * estimated.
 */
const METERED_BYTES_MAX = 32 * 1024 * 1024;

export interface PlainRelayParts {
  readonly answer: ClientAnswer;
  /** Name, value, name, value; without a length. */
  readonly headers: readonly string[];
  /** As the provider announced it, null when it did not. */
  readonly contentLength: number | null;
  readonly reader: AnswerReader;
  readonly counting: Counting;
  readonly events: RelayEvents;
  /** Whether a complete body is sent before its record is stored, all but the last byte. */
  readonly sendsEarly: () => boolean;
}

/**
 * Takes a plain answer. Nothing goes to the client before the body is complete or has become too
 * large to be held, so that a break is an error and no truncated 200. The last byte is the last
 * piece: it waits for the record.
 */
export class PlainRelay implements AnswerRelay {
  readonly #parts: PlainRelayParts;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** This body's part of {@link HELD_ANSWERS}, then of {@link METERED_ANSWERS}. */
  #heldBytes = 0;
  #keptBytes = 0;
  #isKept = true;
  /** The last byte so far of a relayed body. */
  #tail: Buffer | null = null;
  #isOver = false;
  hasBegun = false;

  constructor(parts: PlainRelayParts) {
    this.#parts = parts;
  }

  /** Nothing of a plain body is read before its end. */
  get hasText(): boolean {
    return this.hasBegun;
  }

  get deliveredBytes(): number {
    return this.hasBegun ? this.#bytes : 0;
  }

  data(chunk: Buffer): void {
    if (this.#isOver || chunk.length === 0) return;
    this.#bytes += chunk.length;
    if (this.hasBegun) {
      this.#keep(chunk);
      return this.#relay(chunk);
    }
    this.#chunks.push(chunk);
    if (this.#bytes <= HELD_BYTES_MAX && HELD_ANSWERS.take(chunk.length)) {
      this.#heldBytes += chunk.length;
      return;
    }
    const body = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#giveBackHeld();
    this.#begin(this.#parts.contentLength);
    this.#keep(body);
    this.#relay(body);
  }

  end(): void {
    if (this.#isOver) return;
    const meter = this.#read();
    const failed = meter.finished ? null : this.#failedBody(meter);
    if (!meter.finished && failed === null) return;
    this.#isOver = true;
    const over = (): void => this.#giveBackHeld();
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
   * What goes to the client of an answer that is none; null: nothing does, and the attempt knows.
   */
  #failedBody({ failure }: MeterResult): Buffer | null {
    const { events } = this.#parts;
    if (failure === undefined) {
      events.incomplete(UNUSABLE);
      return null;
    }
    const relayed = this.hasBegun ? null : failure.relayed;
    return events.providerFailed(failure.said, relayed !== null) ? relayed : null;
  }

  drop(): void {
    this.#isOver = true;
    this.#giveBackHeld();
    this.#forget();
  }

  stop(how: 'client_left' | 'cut', error: GatewayError | null): void {
    if (this.#isOver) return;
    this.drop();
    const meter = { usage: null, problem: 'absent', deliveredBytes: this.deliveredBytes, finished: false } as const;
    this.#parts.events.ended({ ended: how, meter, lastPiece: null, error });
  }

  #begin(length: number | null): void {
    this.hasBegun = true;
    const { answer, headers, events } = this.#parts;
    answer.begin(200, length === null ? headers : [...headers, 'content-length', String(length)]);
    events.begun();
  }

  /** For the usage at the end of a relayed body, within the bounds. */
  #keep(chunk: Buffer): void {
    if (!this.#isKept) return;
    if (this.#bytes > METERED_BYTES_MAX || !METERED_ANSWERS.take(chunk.length)) {
      this.#isKept = false;
      return this.#forget();
    }
    this.#chunks.push(chunk);
    this.#keptBytes += chunk.length;
  }

  #giveBackHeld(): void {
    HELD_ANSWERS.give(this.#heldBytes);
    this.#heldBytes = 0;
  }

  #forget(): void {
    METERED_ANSWERS.give(this.#keptBytes);
    this.#keptBytes = 0;
    this.#chunks = [];
  }

  /** Writes what is known not to be the end. */
  #relay(chunk: Buffer): void {
    const head = chunk.subarray(0, -1);
    const bytes = this.#tail === null ? head : Buffer.concat([this.#tail, head]);
    this.#tail = chunk.subarray(-1);
    if (bytes.length > 0 && !this.#parts.answer.write(bytes)) this.#parts.events.pause();
  }

  #read(): MeterResult {
    if (!this.#isKept) {
      return { usage: null, problem: 'absent', deliveredBytes: this.#bytes, finished: true };
    }
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    if (this.hasBegun) this.#forget();
    else this.#chunks = [body];
    return this.#parts.reader.readPlain(body, this.#parts.counting);
  }
}
