import { JsonReducer, type Shape } from '../json/json-reducer.js';
import { toResponseShape, KEPT_EVENT_BYTES_MAX } from './answer-shape.js';

/**
 * Maximum bytes of an event that is held until it is complete. A longer event is relayed while it
 * is read.
 */
export const SSE_EVENT_HELD_BYTES_MAX = 64 * 1024;
/**
 * Maximum bytes of one event. Large enough for a response of 128,000 tokens that is repeated at its
 * end with twenty log probabilities each.
 */
export const SSE_EVENT_BYTES_MAX = 256 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM = Buffer.from('\ufeff');
/** Maximum bytes kept of an event's name. */
const EVENT_NAME_BYTES_MAX = 256;
/**
 * Number of chunks of an event that are joined at a time, so that tiny chunks do not take many
 * times their size in memory.
 */
const PIECES_MAX = 1_024;

/** One event of a server-sent event stream with its exact bytes, or a part of a long event. */
export interface SseEvent {
  /**
   * The event as received, including its line ends and the blank line after it. The bytes of all
   * events, joined, are the whole stream.
   */
  readonly bytes: Buffer;
  /** The last `event` field; null if there is none. */
  readonly event: string | null;
  /**
   * The data lines, joined by LF; null if there are none (a comment, an empty event). For a long
   * event, the part that was kept.
   */
  readonly data: Buffer | JsonReducer | null;
  /** A part of a long event, but not the last one. `event` and `data` are incomplete. */
  readonly isPiece: boolean;
  /** The last part of a long event. `event` and `data` are complete. */
  readonly endsLong?: true;
}

/** A provider's event exceeds its bound. The response counts as cut, or as unusable. */
export class EventTooLongError extends Error {
  override readonly name = 'EventOverflow';

  constructor(bytesMax: number) {
    super(`an event exceeds ${bytesMax} bytes`);
  }
}

/**
 * Splits a server-sent event stream into events, independent of its chunks. An event is returned as
 * soon as its blank line is complete. If a CRLF is split there, its LF becomes the first byte of
 * the next event, where it has no meaning. Bytes are not copied if an event is in one chunk. An
 * event that is too long to be held is returned in parts as they arrive, and read at the same time.
 */
export class EventSplitter {
  /** Bytes of earlier chunks of the incomplete event. */
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  /** Joined chunks that come before those in `pending`. */
  private joined: Buffer[] = [];
  /** No byte of the current line has arrived. */
  private lineIsEmpty = true;
  /** The last byte was CR, so that a following LF belongs to it. */
  private afterCr = false;
  private isFirst = true;
  /** The event that is being returned in parts; null if there is none. */
  private long: LongEvent | null = null;

  /** @param shape the data that is kept of a long event */
  constructor(
    private readonly shape: Shape = toResponseShape(undefined),
    private readonly heldBytesMax = SSE_EVENT_HELD_BYTES_MAX,
    private readonly eventBytesMax = SSE_EVENT_BYTES_MAX,
  ) {}

  /**
   * Returns the LF at the start of the chunk if the chunk before ended an event with CR. The LF
   * belongs to that event; the caller pushes the chunk without it. Returns no bytes otherwise.
   */
  takeLf(chunk: Buffer): Buffer {
    if (!this.afterCr || this.pendingBytes > 0 || this.long !== null || chunk[0] !== LF) return chunk.subarray(0, 0);
    this.afterCr = false;
    return chunk.subarray(0, 1);
  }

  /**
   * Returns the events that the chunk completes.
   * @throws EventOverflow, after which push() must not be called again
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
          i = findEmptyLinesEnd(chunk, i);
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
   * Returns the bytes after the last blank line, if any. If the stream ended normally, they are
   * read as an event, as clients do. If it broke, they are a fragment that must not be relayed.
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

/** Reads an event while its bytes are relayed. Keeps only the data in the shape. */
class LongEvent {
  event: string | null = null;
  data: JsonReducer | null = null;
  #bytes = 0;
  /** Bytes of the current line until its field is known, or of an event's name, up to a bound. */
  #line: Buffer = NOTHING;
  #isData = false;

  constructor(
    private readonly shape: Shape,
    private readonly bytesMax: number,
    /** The first line may begin with a byte order mark. */
    private mayHaveBom: boolean,
  ) {}

  /** @throws EventOverflow if the event is too long */
  read(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > this.bytesMax) throw new EventTooLongError(this.bytesMax);
    let from = 0;
    // Each line end is searched for once, since lines may be short and all end with the same byte.
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

  /** Ends the last line, which may have no line end. */
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
    // The byte after the colon may be a space, which is not part of the value.
    if (line.length > start + 5 && startsField(line, start, line.length, 'data')) {
      this.#beginData(line, start);
    } else {
      // A copy, so that the line does not keep its chunk in memory.
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
    this.data.write(readFieldValue(line, start + 4, line.length));
  }

  #endLine(): void {
    const line = this.#line;
    const start = this.#lineStart(line);
    if (!this.#isData && startsField(line, start, line.length, 'data')) this.#beginData(line, start);
    else if (startsField(line, start, line.length, 'event')) {
      this.event = readFieldValue(line, start + 5, line.length).toString();
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
 * Returns the last byte of consecutive empty lines, one of which ends at `end`. One event for each
 * of them would take a thousand times its bytes.
 */
function findEmptyLinesEnd(chunk: Buffer, end: number): number {
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
    const lineEnd = findLineEnd(bytes, lineStart);
    if (startsField(bytes, lineStart, lineEnd, 'data')) {
      const value = readFieldValue(bytes, lineStart + 4, lineEnd);
      if (data === null) data = value;
      else (more ??= []).push(LF_BYTES, value);
    } else if (startsField(bytes, lineStart, lineEnd, 'event')) {
      event = readFieldValue(bytes, lineStart + 5, lineEnd).toString();
    }
    lineStart = lineEnd + 1;
  }
  return { bytes, event, data: data === null || more === null ? data : Buffer.concat([data, ...more]), isPiece: false };
}

const NOTHING = Buffer.alloc(0);
const LF_BYTES = Buffer.from('\n');

/**
 * Finds the end of a line. The LF of a CRLF counts as an empty line, which has no meaning inside an
 * event.
 */
function findLineEnd(bytes: Buffer, start: number): number {
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

/** Returns the value after a field's name, without the colon and one space. */
function readFieldValue(bytes: Buffer, nameEnd: number, end: number): Buffer {
  const afterColon = Math.min(nameEnd + 1, end);
  return bytes.subarray(bytes[afterColon] === SPACE && afterColon < end ? afterColon + 1 : afterColon, end);
}
