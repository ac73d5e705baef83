import { BodyBuffer } from '@gateway/service-kit';
import type { IncomingMessage } from 'node:http';
import { CountedBody, type BodyPools } from '../memory/counted-body.js';
import type { BodyRead } from '../ports.js';

export interface BodyReading {
  /** Bytes that the body announces; null when it is chunked. */
  readonly announced: number | null;
  readonly bytesMax: number;
  /**
   * Whose key it came with; null while nobody has confirmed that: the body is counted as it is
   * announced, before it comes.
   */
  readonly account: string | null;
}

/**
 * Reads a body up to `bytesMax`, counting rather than trusting its announcement. One byte more is
 * `too_large`; one that does not fit among those that are held is `overload`. A body is counted by
 * the memory that it takes, from its first byte until it is freed.
 */
export function readBody(request: IncomingMessage, reading: BodyReading, pools?: BodyPools): Promise<BodyRead> {
  // A request that was closed before tells nobody any more.
  if (request.destroyed) return Promise.resolve({ kind: 'gone' });
  const { announced, bytesMax, account } = reading;
  const body = new CountedBody(account, pools);
  if (account === null && !body.growTo(announced ?? bytesMax, true)) return Promise.resolve({ kind: 'overload' });
  return new Promise((resolve) => {
    const buffer = new BodyBuffer(Math.min(announced ?? bytesMax, bytesMax));
    const finish = (read: BodyRead): void => {
      request.off('data', take);
      request.off('end', complete);
      request.off('close', leave);
      if (read.kind !== 'complete') body.free();
      resolve(read);
    };
    const take = (chunk: Buffer): void => {
      const length = buffer.length + chunk.length;
      if (length > bytesMax) {
        request.pause();
        finish({ kind: 'too_large' });
      } else if (!body.growTo(buffer.heldAfter(chunk), length === announced)) {
        request.pause();
        finish({ kind: 'overload' });
      } else buffer.append(chunk);
    };
    const complete = (): void => {
      body.complete(buffer.take());
      finish({ kind: 'complete', body });
    };
    const leave = (): void => finish({ kind: 'gone' });
    request.on('data', take);
    request.once('end', complete);
    request.once('close', leave);
  });
}
