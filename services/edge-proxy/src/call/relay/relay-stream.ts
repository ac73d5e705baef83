import type { GatewayError } from '@gateway/contracts/errors';
import { toResponseShape } from '../../formats/answer-shape.js';
import { EventTooLongError, EventSplitter, type SseEvent } from '../../formats/event-stream.js';
import { isErrorStart } from '../../formats/failed-event.js';
import { withReason } from '../../formats/meter.js';
import type { ResponseReader, ProviderFailure, StreamMeter, StreamMeterOptions } from '../../formats/meter.js';
import { HELD_BEGINNINGS } from '../../memory/held-bytes.js';
import type { ClientResponse } from '../../ports.js';
import { UNUSABLE, type ResponseRelay, type BodyFailure, type Delivery, type RelayEvents } from './delivery.js';

/**
 * Most bytes that are held back before an event shows a response. The early events of some formats
 * contain the whole response object.
 */
const BEGINNING_BYTES_MAX = 256 * 1024;
/** Time limit for the reason of a failure that gave none: see {@link withReason}. */
const REASON_MS_MAX = 2_000;
/** Most bytes after the final marker that are sent with it. Further bytes are dropped. */
const FOLLOWING_BYTES_MAX = 64 * 1024;
/**
 * Bytes of a long event that are held back until more of it arrives. The client must not receive
 * the end of an event that may be the final marker.
 */
const TAIL_BYTES = 256;
const LF = 0x0a;
const CR = 0x0d;
const NOTHING = Buffer.alloc(0);
const BROKEN: BodyFailure = { kind: 'broken_in_body' };
const UNKNOWN_FAILURE: ProviderFailure = { reported: null, relayed: null };
/** Ends a partly sent event, so that the following bytes form their own event. */
const END_OF_SSE_EVENT = Buffer.from('\n\n');

export interface StreamRelayParts {
  readonly answer: ClientResponse;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly reader: ResponseReader;
  readonly metering: StreamMeterOptions;
  /** The gateway's request ID, which the ending of a cut stream contains. */
  readonly requestId: string;
  readonly events: RelayEvents;
}

/**
 * Relays a stream event by event. Events that arrive together are written together. The final
 * marker is held back as the last chunk, with every event that follows before it is sent. The usage
 * chunk that only the gateway requested is removed. A long event is relayed in parts while it is
 * read; the last part of a final event is held back. A long event that turns out to be an error
 * before any of it was relayed is withheld: the client gets a cleaned part of it.
 */
export class StreamRelay implements ResponseRelay {
  readonly #parts: StreamRelayParts;
  readonly #splitter: EventSplitter;
  readonly #meter: StreamMeter;
  /**
   * Comments and early events that were not sent yet. Their bytes count in {@link HELD_BEGINNINGS}.
   */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #hasEvent = false;
  /**
   * Whether the response goes to the client: an event has shown one, or the limit for held bytes or
   * time was reached.
   */
  #isDecided = false;
  /** The final marker and the events after it; null before the marker. */
  #lastPiece: Buffer[] | null = null;
  #lastPieceBytes = 0;
  /** A failure without a reason. The next event may contain the reason. */
  #unexplained: ProviderFailure | null = null;
  /** Whether the previous event was passed, and whether it ended in CR. */
  #hasPassed = true;
  #endedInCr = false;
  /** The last parts of a long event that were not relayed yet: {@link TAIL_BYTES}. */
  #tail: Buffer[] = [];
  #tailBytes = 0;
  /** The current long event is an error, so it is not relayed further. */
  #isWithheld = false;
  /** A part of an event was relayed, but not its end. */
  #isInsideEvent = false;
  #isOver = false;
  #hasToken = false;
  hasBegun = false;

  constructor(parts: StreamRelayParts) {
    this.#parts = parts;
    this.#meter = parts.reader.streamMeter(parts.metering);
    this.#splitter = new EventSplitter(toResponseShape(parts.metering.pricing));
  }

  get hasText(): boolean {
    return this.#meter.hasText();
  }

  get deliveredBytes(): number {
    return this.#meter.result().deliveredBytes;
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return this.#follow(chunk);
    const sseEvents = this.#split(chunk);
    if (sseEvents === null) this.#parts.events.incomplete(UNUSABLE);
    else this.#relay(sseEvents);
  }

  end(openEnded: boolean): void {
    if (this.#isOver) return this.#followWith(this.#splitter.end()?.bytes ?? NOTHING);
    const rest = this.#splitter.end();
    if (rest !== null) this.#relay([rest], true);
    if (this.#isOver) return;
    if (this.#unexplained !== null) return this.#fail([], this.#unexplained);
    if (!this.#hasEvent && !openEnded) return this.#parts.events.incomplete(UNUSABLE);
    // Without a marker or finish reason, a stream was interrupted despite its regular end.
    if (this.#meter.result().finished) this.#finish('complete', null);
    else this.#parts.events.incomplete(BROKEN);
  }

  drop(): void {
    this.#isOver = true;
    this.#takeKept();
  }

  /** Sends the held events. From now on the client gets the response of this provider. */
  commit(): void {
    if (this.#isOver || this.hasBegun) return;
    this.#isDecided = true;
    this.#send([]);
  }

  stop(how: 'client_disconnected' | 'cut', error: GatewayError | null): void {
    if (!this.#isOver) this.#finish(how, error);
  }

  /** @param isRest the stream ended within this event */
  #relay(sseEvents: readonly SseEvent[], isRest = false): void {
    const passing: Buffer[] = [];
    const wasUnexplained = this.#unexplained !== null;
    for (const [index, sseEvent] of sseEvents.entries()) {
      if (sseEvent.isPiece) {
        this.#pass(this.#takePiece(sseEvent), passing);
        continue;
      }
      const { pass, final, early, failure } = this.#meter.read(sseEvent);
      if (!this.#hasToken && this.#meter.hasText()) {
        this.#hasToken = true;
        this.#parts.events.firstToken();
      }
      const bytes = this.#passingOf(this.#bytesOf(sseEvent), pass || this.#isInsideEvent);
      if (this.#unexplained !== null) {
        if (sseEvent.data === null) continue;
        return this.#fail(passing, withReason(this.#unexplained, failure));
      }
      if (failure?.isUnexplained === true && !this.#isInsideEvent) {
        this.#unexplained = failure;
        this.#isWithheld = false;
        continue;
      }
      if (failure !== null || this.#isWithheld) return this.#fail(passing, failure ?? UNKNOWN_FAILURE);
      // A client cannot use half an event, and it would merge with the ending of a cut stream.
      if (isRest && !this.#meter.result().finished) return;
      this.#isInsideEvent = false;
      // A final marker may have only an event name and no data.
      if (sseEvent.data !== null || final) this.#reportEvent(early);
      if (final) {
        this.#send(passing);
        this.#lastPiece = [bytes];
        for (const { bytes: following } of sseEvents.slice(index + 1)) this.#followWith(following);
        return this.#finish('complete', null);
      }
      if (bytes.length > 0) passing.push(bytes);
    }
    this.#send(passing);
    // Must come after the send, which may set the longer time limit for held events.
    if (this.#unexplained !== null && !wasUnexplained) this.#awaitReason(this.#unexplained);
  }

  #reportEvent(early: boolean): void {
    if (!early) this.#isDecided = true;
    this.#hasEvent = true;
    this.#parts.events.event();
  }

  #awaitReason(failure: ProviderFailure): void {
    this.#parts.events.keptBack(() => {
      if (!this.#isOver) this.#fail([], failure);
    }, REASON_MS_MAX);
  }

  /**
   * Handles a failure that the provider reports. The client gets it in the provider's format if the
   * attempt allows it and no part of that event was sent.
   */
  #fail(passing: Buffer[], { reported, relayed }: ProviderFailure): void {
    this.#send(passing);
    const own = this.#isInsideEvent ? null : relayed;
    if (!this.#parts.events.providerFailed(reported, own !== null) || own === null) return;
    this.#isDecided = true;
    this.#send([own]);
    this.#finish('cut', null);
  }

  /** Returns the parts of a long event that are relayed now. */
  #takePiece(piece: SseEvent): Buffer[] {
    if (piece.data !== null) this.#reportEvent(true);
    this.#isWithheld ||= this.#unexplained !== null || isErrorStart(piece);
    if (this.#isWithheld) return [];
    this.#tail.push(piece.bytes);
    this.#tailBytes += piece.bytes.length;
    let count = 0;
    for (; this.#tailBytes - (this.#tail[count]?.length ?? 0) >= TAIL_BYTES; count += 1) {
      this.#tailBytes -= this.#tail[count]?.length ?? 0;
    }
    return this.#tail.splice(0, count);
  }

  #pass(pieces: readonly Buffer[], passing: Buffer[]): void {
    for (const piece of pieces) passing.push(this.#passingOf(piece, true));
    this.#isInsideEvent ||= pieces.length > 0;
  }

  /** Returns the bytes of an event; for a long event, those that were not relayed yet. */
  #bytesOf({ bytes, endsLong }: SseEvent): Buffer {
    if (endsLong !== true) return bytes;
    const tail = this.#tail;
    this.#tail = [];
    this.#tailBytes = 0;
    return tail.length === 0 ? bytes : Buffer.concat([...tail, bytes]);
  }

  /**
   * Returns the bytes of an event that are sent. If a CRLF was split between two chunks, its LF
   * belongs to the previous event.
   */
  #passingOf(bytes: Buffer, pass: boolean): Buffer {
    if (bytes.length === 0) return bytes;
    const beginsLate = this.#endedInCr && bytes[0] === LF;
    const hasPassed = this.#hasPassed;
    this.#hasPassed = pass;
    this.#endedInCr = bytes[bytes.length - 1] === CR;
    if (!beginsLate || hasPassed === pass) return pass ? bytes : NOTHING;
    return hasPassed ? bytes.subarray(0, 1) : bytes.subarray(1);
  }

  /**
   * Adds the events after the final marker. Only whole events are added, so that the client never
   * gets half of one.
   */
  #follow(chunk: Buffer): void {
    if (this.#lastPiece === null) return;
    const lf = this.#splitter.takeLf(chunk);
    this.#followWith(lf);
    for (const { bytes } of this.#split(chunk.subarray(lf.length)) ?? []) this.#followWith(bytes);
  }

  #followWith(bytes: Buffer): void {
    this.#lastPieceBytes += bytes.length;
    if (bytes.length > 0 && this.#lastPieceBytes <= FOLLOWING_BYTES_MAX) this.#lastPiece?.push(bytes);
  }

  /** Splits a chunk into events; null: an event is too long, and the rest cannot be read. */
  #split(chunk: Buffer): SseEvent[] | null {
    try {
      return this.#splitter.push(chunk);
    } catch (error) {
      if (error instanceof EventTooLongError) return null;
      throw error;
    }
  }

  #send(sseEvents: Buffer[]): void {
    if (!this.hasBegun && !this.#mayBegin(sseEvents)) return;
    const bytes = sseEvents.length === 1 ? sseEvents[0] : Buffer.concat(sseEvents);
    if (bytes === undefined || bytes.length === 0) return;
    if (!this.#parts.answer.write(bytes)) this.#parts.events.pause();
  }

  /** Begins the response if an event shows one. The held events are sent first. */
  #mayBegin(sseEvents: Buffer[]): boolean {
    if (!this.#isDecided && this.#keep(sseEvents)) return false;
    this.#isDecided = true;
    sseEvents.unshift(...this.#takeKept());
    this.#begin();
    return true;
  }

  /** Holds events back. False: they exceed a limit. */
  #keep(sseEvents: readonly Buffer[]): boolean {
    let bytes = 0;
    for (const sseEvent of sseEvents) bytes += sseEvent.length;
    if (bytes === 0) return true;
    if (this.#keptBytes + bytes > BEGINNING_BYTES_MAX || !HELD_BEGINNINGS.take(bytes)) return false;
    if (this.#keptBytes === 0) this.#parts.events.keptBack(() => this.commit());
    this.#keptBytes += bytes;
    this.#kept.push(...sseEvents);
    return true;
  }

  #takeKept(): Buffer[] {
    const kept = this.#kept;
    HELD_BEGINNINGS.give(this.#keptBytes);
    this.#kept = [];
    this.#keptBytes = 0;
    return kept;
  }

  #begin(): void {
    this.hasBegun = true;
    this.#parts.answer.begin(200, this.#parts.headers);
    this.#parts.events.begun();
  }

  #finish(ended: 'complete' | 'client_disconnected' | 'cut', error: GatewayError | null): void {
    if (ended === 'complete' && !this.hasBegun) this.commit();
    this.#isOver = true;
    this.#takeKept();
    const lastPiece = this.#lastPiece;
    const delivery: Delivery = {
      ended,
      meter: this.#meter.result(),
      get lastPiece() {
        return lastPiece === null ? null : Buffer.concat(lastPiece);
      },
      usageEvent: this.#meter.usageEvent,
      error,
    };
    const tellsError = ended === 'cut' && error !== null;
    this.#parts.events.ended(tellsError ? { ...delivery, cutEnding: this.#cutEnding(error) } : delivery);
  }

  #cutEnding(error: GatewayError): Buffer {
    const ending = this.#meter.cutEnding(error, this.#parts.requestId);
    return this.#isInsideEvent ? Buffer.concat([END_OF_SSE_EVENT, ending]) : ending;
  }
}
