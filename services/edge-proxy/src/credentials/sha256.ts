import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/** Most bytes hashed per event-loop tick. A larger body takes several ticks. */
const BYTES_AT_ONCE_MAX = 512 * 1024;

/** Returns the hash of a body as hex. Synchronous up to {@link BYTES_AT_ONCE_MAX}. */
export function computeSha256(pieces: readonly Buffer[]): string | Promise<string> {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const hash = createHash('sha256');
  if (bytes > BYTES_AT_ONCE_MAX) return inTurns(hash, pieces);
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

async function inTurns(hash: Hash, pieces: readonly Buffer[]): Promise<string> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += BYTES_AT_ONCE_MAX) {
      hash.update(piece.subarray(at, at + BYTES_AT_ONCE_MAX));
      await setImmediate();
    }
  }
  return hash.digest('hex');
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** The hash, or the HMAC with a secret, with the interface of the signing library. */
export class Sha256 {
  readonly #secret: Bytes | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#secret = secret;
    this.#hash = this.#begin();
  }

  update(data: Bytes): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = this.#begin();
  }

  #begin(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(this.#secret));
  }
}

function bytesOf(data: Bytes): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}
