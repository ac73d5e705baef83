/** Bytes of one event that is read. Room for an event that carries a whole image. */
export const SSE_EVENT_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Bytes of one event that passes unread. Room for an answer of 128,000 tokens that is repeated at
 * its end with twenty log probabilities each.
 */
export const LONG_SSE_EVENT_BYTES_MAX = 256 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM_BYTES = 3;
/**
 * Pieces of an event that are joined at a time: tiny chunks must not cost many times their bytes.
 */
const PIECES_MAX = 1_024;

/** One event of a server-sent event stream with its exact bytes. */
export interface SseEvent {
  /**
   * As received, with line ends and the blank line: the bytes of all events together are those of
   * the stream.
   */
  readonly bytes: Buffer;
  /** The last `event` field; null when there is none. */
  readonly event: string | null;
  /** The data lines, joined by LF; null when there is none (a comment, an empty event). */
  readonly data: Buffer | null;
  /** A part of an event that is too long to be read: nothing but its bytes is known. */
  readonly isPiece: boolean;
}

/** A provider's event exceeds its bound: the stream counts as cut, or as no answer. */
export class EventOverflow extends Error {
  override readonly name = 'FrameOverflow';

  constructor(bytesMax: number) {
    super(`a frame exceeds ${bytesMax} bytes`);
  }
}

/**
 * Splits the bytes of a server-sent event stream into events, however they are cut into chunks. An
 * event is given out as soon as its blank line is complete: when a CRLF is cut in two there, its LF
 * becomes the first byte of the next event, where it means nothing. Bytes are not copied while an
 * event lies in one chunk. An event that is too long to be read is given out in pieces, as they
 * come, once that was allowed.
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
  /** Bytes given out of the event that has begun; 0 unless it is given out in pieces. */
  private givenBytes = 0;
  /**
   * Whether an event beyond its bound is given out in pieces; it is a {@link EventOverflow}
   * otherwise.
   */
  passesLong = false;

  constructor(
    private readonly eventBytesMax = SSE_EVENT_BYTES_MAX,
    private readonly longEventBytesMax = LONG_SSE_EVENT_BYTES_MAX,
  ) {}

  /** Whether some of the event that has begun was given out, and some is still to come. */
  get isInsideLong(): boolean {
    return this.givenBytes > 0;
  }

  /** Bytes of the event that has begun and is not complete. */
  get heldBytes(): number {
    return this.pendingBytes;
  }

  /**
   * The LF at the start of the chunk, where the last event ended in a CR with which the chunk
   * before ended: it belongs to that event, and what is left of the chunk is pushed without it.
   * Empty where there is none.
   */
  takeLf(chunk: Buffer): Buffer {
    if (!this.afterCr || this.pendingBytes > 0 || this.isInsideLong || chunk[0] !== LF) return chunk.subarray(0, 0);
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
      if (this.isInsideLong || this.pendingBytes > this.eventBytesMax) sseEvents.push(this.letGo());
    }
    return sseEvents;
  }

  /**
   * What is held of the event that has begun; the rest of it follows in pieces. For a process that
   * can hold no more.
   * @throws EventOverflow unless long events pass
   */
  letGo(): SseEvent {
    if (!this.passesLong) throw new EventOverflow(this.eventBytesMax);
    return this.piece(this.takeHeld(NOTHING));
  }

  /**
   * What came after the last blank line, if anything. Of a stream that ended properly it is read as
   * an event, as clients do; of a broken one it is a fragment, not to be relayed.
   */
  end(): SseEvent | null {
    return this.pendingBytes === 0 ? null : this.take(NOTHING);
  }

  private keep(rest: Buffer): void {
    this.pending.push(rest);
    this.pendingBytes += rest.length;
    if (this.pending.length < PIECES_MAX) return;
    this.joined.push(Buffer.concat(this.pending));
    this.pending = [];
  }

  private take(last: Buffer): SseEvent {
    const isLong = this.isInsideLong || this.pendingBytes + last.length > this.eventBytesMax;
    if (isLong && !this.passesLong) throw new EventOverflow(this.eventBytesMax);
    const bytes = this.takeHeld(last);
    if (isLong) {
      const piece = this.piece(bytes);
      this.givenBytes = 0;
      return piece;
    }
    const hasBom = this.isFirst && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    this.isFirst = false;
    return readSseEvent(bytes, hasBom ? BOM_BYTES : 0);
  }

  private takeHeld(last: Buffer): Buffer {
    const bytes = this.pendingBytes === 0 ? last : Buffer.concat([...this.joined, ...this.pending, last]);
    this.joined = [];
    this.pending = [];
    this.pendingBytes = 0;
    return bytes;
  }

  private piece(bytes: Buffer): SseEvent {
    this.isFirst = false;
    this.givenBytes += bytes.length;
    if (this.givenBytes > this.longEventBytesMax) throw new EventOverflow(this.longEventBytesMax);
    return { bytes, event: null, data: null, isPiece: true };
  }
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
