import type { IncomingMessage } from 'node:http';
import { REQUEST_BODIES, type HeldBytes } from '../memory/held-bytes.js';
import type { BodyRead, RequestBody } from '../ports.js';

/**
 * Reads a body up to `bytesMax`, counting rather than trusting its announcement. One byte more is `too_large`; one that
 * does not fit among those that are `held` is `overload`. A complete body stays counted until it is freed.
 */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  held: HeldBytes = REQUEST_BODIES,
): Promise<BodyRead> {
  // A request that was closed before tells nobody any more.
  if (request.destroyed) return Promise.resolve({ kind: 'gone' });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (read: BodyRead): void => {
      request.off('data', take);
      request.off('end', complete);
      request.off('close', leave);
      if (read.kind !== 'complete') held.give(bytes);
      resolve(read);
    };
    const take = (chunk: Buffer): void => {
      if (bytes + chunk.length > bytesMax) {
        request.pause();
        finish({ kind: 'too_large' });
      } else if (!held.take(chunk.length)) {
        request.pause();
        finish({ kind: 'overload' });
      } else {
        bytes += chunk.length;
        chunks.push(chunk);
      }
    };
    const complete = (): void => {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
      finish({ kind: 'complete', body: new CountedBody(body, held) });
    };
    const leave = (): void => finish({ kind: 'gone' });
    request.on('data', take);
    request.once('end', complete);
    request.once('close', leave);
  });
}

class CountedBody implements RequestBody {
  bytes: Buffer;
  readonly #length: number;
  readonly #held: HeldBytes;
  #isFreed = false;

  constructor(bytes: Buffer, held: HeldBytes) {
    this.bytes = bytes;
    this.#length = bytes.length;
    this.#held = held;
  }

  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    this.#held.give(this.#length);
  }
}
