/** Bytes of one frame that is read. Room for an event that carries a whole image. */
export const FRAME_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Bytes of one frame that passes unread. Room for an answer of 128,000 tokens that is repeated at its end with twenty log
 * probabilities each.
 */
export const LONG_FRAME_BYTES_MAX = 256 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM_BYTES = 3;
/** Pieces of a frame that are joined at a time: tiny chunks must not cost many times their bytes. */
const PIECES_MAX = 1_024;

/** One event of a server-sent event stream with its exact bytes. */
export interface Frame {
  /** As received, with line ends and the blank line: the bytes of all frames together are those of the stream. */
  readonly bytes: Buffer;
  /** The last `event` field; null when there is none. */
  readonly event: string | null;
  /** The data lines, joined by LF; null when there is none (a comment, an empty frame). */
  readonly data: Buffer | null;
  /** A part of a frame that is too long to be read: nothing but its bytes is known. */
  readonly isPiece: boolean;
}

/** A provider's frame exceeds its bound: the stream counts as cut, or as no answer. */
export class FrameOverflow extends Error {
  override readonly name = 'FrameOverflow';

  constructor(bytesMax: number) {
    super(`a frame exceeds ${bytesMax} bytes`);
  }
}

/**
 * Splits the bytes of a server-sent event stream into frames, however they are cut into chunks. A frame is given out
 * as soon as its blank line is complete: when a CRLF is cut in two there, its LF becomes the first byte of the next
 * frame, where it means nothing. Bytes are not copied while a frame lies in one chunk. A frame that is too long to be read
 * is given out in pieces, as they come, once that was allowed.
 */
export class FrameSplitter {
  /** Earlier chunks' bytes of the frame that has begun. */
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  /** Joined earlier pieces, before those in `pending`. */
  private joined: Buffer[] = [];
  /** No byte of the current line has come. */
  private lineIsEmpty = true;
  /** The last byte was CR: an LF that follows belongs to it. */
  private afterCr = false;
  private isFirst = true;
  /** Bytes given out of the frame that has begun; 0 unless it is given out in pieces. */
  private givenBytes = 0;
  /** Whether a frame beyond its bound is given out in pieces; it is a {@link FrameOverflow} otherwise. */
  passesLong = false;

  constructor(
    private readonly frameBytesMax = FRAME_BYTES_MAX,
    private readonly longFrameBytesMax = LONG_FRAME_BYTES_MAX,
  ) {}

  /** Whether some of the frame that has begun was given out, and some is still to come. */
  get isInsideLong(): boolean {
    return this.givenBytes > 0;
  }

  /** Bytes of the frame that has begun and is not complete. */
  get heldBytes(): number {
    return this.pendingBytes;
  }

  /**
   * The LF at the start of the chunk, where the last frame ended in a CR with which the chunk before ended: it belongs to
   * that frame, and what is left of the chunk is pushed without it. Empty where there is none.
   */
  takeLf(chunk: Buffer): Buffer {
    if (!this.afterCr || this.pendingBytes > 0 || this.isInsideLong || chunk[0] !== LF) return chunk.subarray(0, 0);
    this.afterCr = false;
    return chunk.subarray(0, 1);
  }

  /** The frames that the chunk completes. @throws FrameOverflow, after which nothing more may be pushed */
  push(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    let frameStart = 0;
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
        if (this.pendingBytes === 0 && frameStart > 0 && i - frameStart <= 1) {
          i = endOfEmptyLines(chunk, i);
          this.afterCr = chunk[i] === CR && i + 1 === chunk.length;
          frames.push({ bytes: chunk.subarray(frameStart, i + 1), event: null, data: null, isPiece: false });
        } else {
          frames.push(this.take(chunk.subarray(frameStart, i + 1)));
        }
        frameStart = i + 1;
      }
      this.lineIsEmpty = true;
    }
    if (frameStart < chunk.length) {
      this.keep(chunk.subarray(frameStart));
      if (this.isInsideLong || this.pendingBytes > this.frameBytesMax) frames.push(this.letGo());
    }
    return frames;
  }

  /**
   * What is held of the frame that has begun; the rest of it follows in pieces. For a process that can hold no more.
   * @throws FrameOverflow unless long frames pass
   */
  letGo(): Frame {
    if (!this.passesLong) throw new FrameOverflow(this.frameBytesMax);
    return this.piece(this.takeHeld(NOTHING));
  }

  /**
   * What came after the last blank line, if anything. Of a stream that ended properly it is read as a frame, as clients
   * do; of a broken one it is a fragment, not to be relayed.
   */
  end(): Frame | null {
    return this.pendingBytes === 0 ? null : this.take(NOTHING);
  }

  private keep(rest: Buffer): void {
    this.pending.push(rest);
    this.pendingBytes += rest.length;
    if (this.pending.length < PIECES_MAX) return;
    this.joined.push(Buffer.concat(this.pending));
    this.pending = [];
  }

  private take(last: Buffer): Frame {
    const isLong = this.isInsideLong || this.pendingBytes + last.length > this.frameBytesMax;
    if (isLong && !this.passesLong) throw new FrameOverflow(this.frameBytesMax);
    const bytes = this.takeHeld(last);
    if (isLong) {
      const piece = this.piece(bytes);
      this.givenBytes = 0;
      return piece;
    }
    const hasBom = this.isFirst && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    this.isFirst = false;
    return readFrame(bytes, hasBom ? BOM_BYTES : 0);
  }

  private takeHeld(last: Buffer): Buffer {
    const bytes = this.pendingBytes === 0 ? last : Buffer.concat([...this.joined, ...this.pending, last]);
    this.joined = [];
    this.pending = [];
    this.pendingBytes = 0;
    return bytes;
  }

  private piece(bytes: Buffer): Frame {
    this.isFirst = false;
    this.givenBytes += bytes.length;
    if (this.givenBytes > this.longFrameBytesMax) throw new FrameOverflow(this.longFrameBytesMax);
    return { bytes, event: null, data: null, isPiece: true };
  }
}

/** Of empty lines, one of which ends at `end`, the last byte: a frame for each would cost a thousand times its bytes. */
function endOfEmptyLines(chunk: Buffer, end: number): number {
  let last = end;
  while (chunk[last + 1] === LF || chunk[last + 1] === CR) last += 1;
  return last;
}

function readFrame(bytes: Buffer, start: number): Frame {
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

/** The LF of a CRLF counts as an empty line of its own, which means nothing within a frame. */
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
