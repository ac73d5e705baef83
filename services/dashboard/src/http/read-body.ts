import { BodyBuffer } from '@gateway/service-kit';
import type { IncomingMessage } from 'node:http';
import { placeOf } from './request-place.js';

export interface BodyBounds {
  readonly bytesMax: number;
  /** Until the last byte is there, in milliseconds. */
  readonly msMax: number;
}

/**
 * The bytes of a body. `too_large`: as soon as that is known; `too_slow`: it was not there in time;
 * `no_room`: bodies of others hold the memory. The rest is then left in the request. `aborted`: the
 * client has gone.
 */
export type BodyRead = { readonly bytes: Buffer } | 'too_large' | 'too_slow' | 'no_room' | 'aborted';

/**
 * Reads a body, announced or counted. What it holds is counted until the request is answered. Never
 * rejects.
 */
export function readBody(request: IncomingMessage, { bytesMax, msMax }: BodyBounds): Promise<BodyRead> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > bytesMax) return Promise.resolve('too_large');
  const place = placeOf(request);
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
