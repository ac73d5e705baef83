import { JsonReducer, type Shape } from '../json/json-reducer.js';
import { answerShape, KEPT_EVENT_BYTES_MAX } from './answer-shape.js';

/** Bytes of one event that is held until it is complete; a longer one passes while it is read. */
export const SSE_EVENT_HELD_BYTES_MAX = 64 * 1024;
/**
 * Bytes of one event. Room for an answer of 128,000 tokens that is repeated at its end with twenty
 * log probabilities each.
 */
export const SSE_EVENT_BYTES_MAX = 256 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM = Buffer.from('\ufeff');
/** Bytes of the longest name of an event that is kept. */
const EVENT_NAME_BYTES_MAX = 256;
/**
 * Pieces of an event that are joined at a time: tiny chunks must not cost many times their bytes.
 */
const PIECES_MAX = 1_024;

/** One event of a server-sent event stream with its exact bytes, or a part of a long one. */
export interface SseEvent {
  /**
   * As received, with line ends and the blank line: the bytes of all events together are those of
   * the stream.
   */
  readonly bytes: Buffer;
  /** The last `event` field; null when there is none. */
  readonly event: string | null;
  /**
   * The data lines, joined by LF; null when there is none (a comment, an empty event). Of a long
   * event: what was kept of it.
   */
  readonly data: Buffer | JsonReducer | null;
  /** A part of a long event, and not its last one: `event` and `data` are those so far. */
  readonly isPiece: boolean;
  /** The last part of a long event: `event` and `data` are those of the whole. */
  readonly endsLong?: true;
}

/** A provider's event exceeds its bound: the stream counts as cut, or as no answer. */
export class EventOverflow extends Error {
  override readonly name = 'EventOverflow';

  constructor(bytesMax: number) {
    super(`an event exceeds ${bytesMax} bytes`);
  }
}

/**
 * Splits the bytes of a server-sent event stream into events, however they are cut into chunks. An
 * event is given out as soon as its blank line is complete: when a CRLF is cut in two there, its LF
 * becomes the first byte of the next event, where it means nothing. Bytes are not copied while an
 * event lies in one chunk. An event that is too long to be held is given out in pieces, as they
 * come, and read meanwhile.
 */
export class EventSplitter {
  /** Earlier chunks' bytes of the event that has begun. */
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  /** Joined earlier pieces, before those in `pending`. */
  private joined: Buffer[] = [];
  /** No byte of the current line has come. */
  private lineIsEmpty = true;
  /** The last byte was CR: an LF that follows belongs to it. */
  private afterCr = false;
  private isFirst = true;
  /** The event that is given out in pieces; null: none is. */
  private long: LongEvent | null = null;

  /** @param shape what is kept of a long event */
  constructor(
    private readonly shape: Shape = answerShape(undefined),
    private readonly heldBytesMax = SSE_EVENT_HELD_BYTES_MAX,
    private readonly eventBytesMax = SSE_EVENT_BYTES_MAX,
  ) {}

  /**
   * The LF at the start of the chunk, where the last event ended in a CR with which the chunk
   * before ended: it belongs to that event, and what is left of the chunk is pushed without it.
   * Empty where there is none.
   */
  takeLf(chunk: Buffer): Buffer {
    if (!this.afterCr || this.pendingBytes > 0 || this.long !== null || chunk[0] !== LF) return chunk.subarray(0, 0);
    this.afterCr = false;
    return chunk.subarray(0, 1);
  }

  /**
   * The events that the chunk completes. @throws EventOverflow, after which nothing more may be
   * pushed
   */
  push(chunk: Buffer): SseEvent[] {
    const sseEvents: SseEvent[] = [];
    let eventStart = 0;
    let i = this.afterCr && chunk[0] === LF ? 1 : 0;
    if (chunk.length > 0) this.afterCr = false;
    for (; i < chunk.length; i += 1) {
      const byte = chunk[i];
      if (byte !== LF && byte !== CR) {
        this.lineIsEmpty = false;
        continue;
      }
      if (byte === CR) {
        if (chunk[i + 1] === LF) i += 1;
        else this.afterCr = i + 1 === chunk.length;
      }
      if (this.lineIsEmpty) {
        if (this.pendingBytes === 0 && eventStart > 0 && i - eventStart <= 1) {
          i = endOfEmptyLines(chunk, i);
          this.afterCr = chunk[i] === CR && i + 1 === chunk.length;
          sseEvents.push({ bytes: chunk.subarray(eventStart, i + 1), event: null, data: null, isPiece: false });
        } else {
          sseEvents.push(this.take(chunk.subarray(eventStart, i + 1)));
        }
        eventStart = i + 1;
      }
      this.lineIsEmpty = true;
    }
    if (eventStart < chunk.length) {
      this.keep(chunk.subarray(eventStart));
      if (this.long !== null || this.pendingBytes > this.heldBytesMax) {
        const bytes = this.takeHeld(NOTHING);
        const { event, data } = this.readLong(bytes);
        sseEvents.push({ bytes, event, data, isPiece: true });
      }
    }
    return sseEvents;
  }

  /**
   * What came after the last blank line, if anything. Of a stream that ended properly it is read as
   * an event, as clients do; of a broken one it is a fragment, not to be relayed.
   */
  end(): SseEvent | null {
    return this.pendingBytes === 0 && this.long === null ? null : this.take(NOTHING);
  }

  private keep(rest: Buffer): void {
    this.pending.push(rest);
    this.pendingBytes += rest.length;
    if (this.pending.length < PIECES_MAX) return;
    this.joined.push(Buffer.concat(this.pending));
    this.pending = [];
  }

  private take(last: Buffer): SseEvent {
    const isLong = this.long !== null || this.pendingBytes + last.length > this.heldBytesMax;
    const bytes = this.takeHeld(last);
    if (isLong) {
      const long = this.readLong(bytes);
      this.long = null;
      return { bytes, ...long.end(), isPiece: false, endsLong: true };
    }
    const hasBom = this.isFirst && bytes.subarray(0, BOM.length).equals(BOM);
    this.isFirst = false;
    return readSseEvent(bytes, hasBom ? BOM.length : 0);
  }

  private takeHeld(last: Buffer): Buffer {
    const bytes = this.pendingBytes === 0 ? last : Buffer.concat([...this.joined, ...this.pending, last]);
    this.joined = [];
    this.pending = [];
    this.pendingBytes = 0;
    return bytes;
  }

  private readLong(bytes: Buffer): LongEvent {
    this.long ??= new LongEvent(this.shape, this.eventBytesMax, this.isFirst);
    this.isFirst = false;
    this.long.read(bytes);
    return this.long;
  }
}

/** Reads an event while its bytes pass: of its data it keeps what the shape names. */
class LongEvent {
  event: string | null = null;
  data: JsonReducer | null = null;
  #bytes = 0;
  /**
   * The current line: its bytes as long as its field is not known, or those of an event's name, up
   * to a bound.
   */
  #line: Buffer = NOTHING;
  #isData = false;

  constructor(
    private readonly shape: Shape,
    private readonly bytesMax: number,
    /** A byte order mark may stand before its first line. */
    private mayHaveBom: boolean,
  ) {}

  /** @throws EventOverflow when it is longer than an event may be */
  read(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > this.bytesMax) throw new EventOverflow(this.bytesMax);
    let from = 0;
    // Both ends are searched for once: lines may be short, and may all end in the same.
    let lf = -1;
    let cr = -1;
    while (from < bytes.length) {
      if (lf < from) lf = indexFrom(bytes, LF, from);
      if (cr < from) cr = indexFrom(bytes, CR, from);
      const end = Math.min(lf, cr);
      if (end > from) this.#readLine(bytes.subarray(from, end));
      if (end < bytes.length) this.#endLine();
      from = end + 1;
    }
  }

  /** Its last line may have come without its end. */
  end(): Pick<SseEvent, 'event' | 'data'> {
    this.#endLine();
    return { event: this.event, data: this.data };
  }

  #readLine(part: Buffer): void {
    if (this.#isData) {
      this.data?.write(part);
      return;
    }
    if (this.#line.length >= EVENT_NAME_BYTES_MAX) return;
    const line = this.#line.length === 0 ? part : Buffer.concat([this.#line, part]);
    const start = this.#lineStart(line);
    // The byte behind the colon tells whether there is a space to leave out.
    if (line.length > start + 5 && startsField(line, start, line.length, 'data')) {
      this.#beginData(line, start);
    } else {
      // A copy: the line must not hold its chunk.
      this.#line = Buffer.from(line.subarray(0, EVENT_NAME_BYTES_MAX));
    }
  }

  #lineStart(line: Buffer): number {
    return this.mayHaveBom && line.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0;
  }

  #beginData(line: Buffer, start: number): void {
    if (this.data === null) this.data = new JsonReducer(this.shape, KEPT_EVENT_BYTES_MAX);
    else this.data.write(LF_BYTES);
    this.#line = NOTHING;
    this.#isData = true;
    this.data.write(valueOf(line, start + 4, line.length));
  }

  #endLine(): void {
    const line = this.#line;
    const start = this.#lineStart(line);
    if (!this.#isData && startsField(line, start, line.length, 'data')) this.#beginData(line, start);
    else if (startsField(line, start, line.length, 'event')) {
      this.event = valueOf(line, start + 5, line.length).toString();
    }
    this.#line = NOTHING;
    this.#isData = false;
    this.mayHaveBom = false;
  }
}

function indexFrom(bytes: Buffer, byte: number, start: number): number {
  const found = bytes.indexOf(byte, start);
  return found < 0 ? bytes.length : found;
}

/**
 * Of empty lines, one of which ends at `end`, the last byte: an event for each would cost a
 * thousand times its bytes.
 */
function endOfEmptyLines(chunk: Buffer, end: number): number {
  let last = end;
  while (chunk[last + 1] === LF || chunk[last + 1] === CR) last += 1;
  return last;
}

function readSseEvent(bytes: Buffer, start: number): SseEvent {
  let event: string | null = null;
  let data: Buffer | null = null;
  let more: Buffer[] | null = null;
  let lineStart = start;
  while (lineStart < bytes.length) {
    const lineEnd = endOfLine(bytes, lineStart);
    if (startsField(bytes, lineStart, lineEnd, 'data')) {
      const value = valueOf(bytes, lineStart + 4, lineEnd);
      if (data === null) data = value;
      else (more ??= []).push(LF_BYTES, value);
    } else if (startsField(bytes, lineStart, lineEnd, 'event')) {
      event = valueOf(bytes, lineStart + 5, lineEnd).toString();
    }
    lineStart = lineEnd + 1;
  }
  return { bytes, event, data: data === null || more === null ? data : Buffer.concat([data, ...more]), isPiece: false };
}

const NOTHING = Buffer.alloc(0);
const LF_BYTES = Buffer.from('\n');

/** The LF of a CRLF counts as an empty line of its own, which means nothing within an event. */
function endOfLine(bytes: Buffer, start: number): number {
  let i = start;
  for (; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (byte === LF || byte === CR) break;
  }
  return i;
}

function startsField(bytes: Buffer, start: number, end: number, name: string): boolean {
  const nameEnd = start + name.length;
  if (nameEnd > end) return false;
  for (let i = 0; i < name.length; i += 1) if (bytes[start + i] !== name.charCodeAt(i)) return false;
  return nameEnd === end || bytes[nameEnd] === COLON;
}

/** The value after a field's name: without the colon and one space. */
function valueOf(bytes: Buffer, nameEnd: number, end: number): Buffer {
  const afterColon = Math.min(nameEnd + 1, end);
  return bytes.subarray(bytes[afterColon] === SPACE && afterColon < end ? afterColon + 1 : afterColon, end);
}
