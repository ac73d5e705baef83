import type { IncomingMessage } from 'node:http';
import type { BodyRead } from '../ports.js';

/** Bodies that one edge holds at a time, in bytes; a request above is answered as overload. */
const BUFFERED_BYTES_MAX = 512 * 1024 * 1024;

let bufferedBytes = 0;

/** Bytes of request bodies that are being read. */
export function bodyBytesBuffered(): number {
  return bufferedBytes;
}

/** Reads a body up to `bytesMax`, counting rather than trusting its announcement. One byte more is `too_large`. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<BodyRead> {
  // A request that was closed before tells nobody any more.
  if (request.destroyed) return Promise.resolve({ kind: 'gone' });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (read: BodyRead): void => {
      request.off('data', take);
      request.off('end', complete);
      request.off('close', leave);
      bufferedBytes -= bytes;
      resolve(read);
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      bufferedBytes += chunk.length;
      if (bytes > bytesMax) {
        request.pause();
        finish({ kind: 'too_large' });
      } else if (bufferedBytes > BUFFERED_BYTES_MAX) {
        request.pause();
        finish({ kind: 'overload' });
      } else chunks.push(chunk);
    };
    const complete = (): void =>
      finish({ kind: 'complete', body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes) });
    const leave = (): void => finish({ kind: 'gone' });
    request.on('data', take);
    request.once('end', complete);
    request.once('close', leave);
  });
}
