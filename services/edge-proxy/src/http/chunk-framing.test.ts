import { expect, test } from '@jest/globals';
import { CHUNK_END, frameChunk, formatChunkSize, LAST_CHUNK } from './chunk-framing.js';

test.each([1, 9, 15, 16, 17, 255, 256, 4_095, 4_096, 65_535, 65_536, 1_048_577])(
  'chunkOf() frames %d bytes with their size before and CRLF after them',
  (length) => {
    // Different values, so that a misplaced byte is detected.
    const bytes = Buffer.from(Array.from({ length }, (_unused, at) => at % 251));
    const wanted = Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    expect(frameChunk(bytes).equals(wanted)).toBe(true);
    expect(frameChunk(bytes, LAST_CHUNK).equals(Buffer.concat([wanted, Buffer.from('0\r\n\r\n')]))).toBe(true);
    expect(Buffer.concat([formatChunkSize(bytes), bytes, CHUNK_END]).equals(wanted)).toBe(true);
  },
);
