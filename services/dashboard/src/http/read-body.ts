import { BodyBuffer } from '@gateway/service-kit';
import type { IncomingMessage } from 'node:http';
import { findPlace } from './request-place.js';

export interface BodyBounds {
  readonly bytesMax: number;
  /** Timeout for the last byte, in milliseconds. */
  readonly msMax: number;
}

/**
 * The bytes of a body, or why reading stopped. `too_large`: it exceeds the bound; `too_slow`: it
 * did not arrive in time; `no_room`: other bodies hold the memory; in these cases the rest stays
 * unread. `aborted`: the client disconnected.
 */
export type BodyRead = { readonly bytes: Buffer } | 'too_large' | 'too_slow' | 'no_room' | 'aborted';

/**
 * Reads a body, with a Content-Length or chunked. Its memory is counted until the request has its
 * response. Never rejects.
 */
export function readBody(request: IncomingMessage, { bytesMax, msMax }: BodyBounds): Promise<BodyRead> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > bytesMax) return Promise.resolve('too_large');
  const place = findPlace(request);
  return new Promise((resolve) => {
    const body = new BodyBuffer(bytesMax);
    const end = (read: BodyRead): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', whole).off('close', gone).off('error', gone);
      resolve(read);
    };
    const leave = (read: 'too_large' | 'too_slow' | 'no_room'): void => {
      request.pause();
      end(read);
    };
    const take = (chunk: Buffer): void => {
      if (body.length + chunk.length > bytesMax) leave('too_large');
      else if (!place.hold(body.heldAfter(chunk))) leave('no_room');
      else body.append(chunk);
    };
    const whole = (): void => end({ bytes: body.take() });
    const gone = (): void => end('aborted');
    const timer = setTimeout(() => leave('too_slow'), msMax);
    request.on('data', take).on('end', whole).on('close', gone).on('error', gone);
  });
}
