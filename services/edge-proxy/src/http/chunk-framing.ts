/**
 * Largest chunk that is copied to add its size and its end. For a larger one, separate writes are
 * cheaper.
 */
export const FRAMED_BYTES_MAX = 16 * 1024;

/** Follows the bytes of a chunk. */
export const CHUNK_END = Buffer.from('\r\n');
/** Ends a complete body that has no trailers. */
export const LAST_CHUNK = Buffer.from('0\r\n\r\n');

const NOTHING = Buffer.alloc(0);
const CR = 0x0d;
const LF = 0x0a;
const DIGITS = Buffer.from('0123456789abcdef');
const BITS_OF_DIGIT = 4;

/**
 * Returns the size line of a chunk. There must be at least one byte, since an empty chunk ends the
 * body.
 */
export function formatChunkSize(bytes: Buffer): Buffer {
  return Buffer.from(`${bytes.length.toString(16)}\r\n`);
}

/**
 * Returns one chunk of a chunked body (RFC 9112, 7.1) in one buffer: size, bytes and end.
 * @param bytes at least one, since an empty chunk ends the body
 * @param rest appended after the chunk: {@link LAST_CHUNK}
 */
export function frameChunk(bytes: Buffer, rest = NOTHING): Buffer {
  const { length } = bytes;
  let digits = 1;
  while (length >> (digits * BITS_OF_DIGIT) > 0) digits += 1;
  const start = digits + CHUNK_END.length;
  const end = start + length;
  const chunk = Buffer.allocUnsafe(end + CHUNK_END.length + rest.length);
  for (let at = 0, left = length; at < digits; at += 1, left >>= BITS_OF_DIGIT) {
    chunk[digits - 1 - at] = DIGITS[left & (DIGITS.length - 1)] as number;
  }
  chunk[digits] = CR;
  chunk[digits + 1] = LF;
  chunk.set(bytes, start);
  chunk[end] = CR;
  chunk[end + 1] = LF;
  if (rest.length > 0) chunk.set(rest, end + CHUNK_END.length);
  return chunk;
}
