import type { IncomingMessage } from 'node:http';

/** The bytes of a body; `too_large` as soon as that is known, and the rest is left in the request. */
export type BodyRead = { readonly bytes: Buffer } | 'too_large' | 'aborted';

/** Reads a body of at most `bytesMax` bytes, announced or counted. Never rejects. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<BodyRead> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > bytesMax) return Promise.resolve('too_large');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (read: BodyRead): void => {
      request.off('data', take).off('end', whole).off('close', gone).off('error', gone);
      resolve(read);
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > bytesMax) {
        request.pause();
        end('too_large');
      } else chunks.push(chunk);
    };
    const whole = (): void => end({ bytes: Buffer.concat(chunks, size) });
    const gone = (): void => end('aborted');
    request.on('data', take).on('end', whole).on('close', gone).on('error', gone);
  });
}
