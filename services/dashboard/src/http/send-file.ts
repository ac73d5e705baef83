import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A text of any length, in pages. */
export interface TextFile {
  readonly contentType: string;
  readonly name: string;
  readonly pages: AsyncIterable<string>;
}

/** Trailer with the SHA-256 of the body, in hexadecimal. A file without it is incomplete. */
export const CONTENT_SHA256 = 'x-content-sha256';
/** Timeout for a client that reads nothing, because it holds one of the places for files. */
const STALLED_MS_MAX = 60_000;

/**
 * Sends a file as fast as the client reads it, with one page in memory. A complete file ends with
 * its checksum as a trailer. Otherwise the connection is aborted, so that the client cannot take a
 * part for the whole. Never rejects.
 * @returns the error; null if the file was sent or the client disconnected
 */
export async function sendFile(request: IncomingMessage, response: ServerResponse, file: TextFile): Promise<unknown> {
  response.statusCode = 200;
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('content-type', file.contentType);
  response.setHeader('content-disposition', `attachment; filename="${file.name}"`);
  if (request.method === 'HEAD') {
    response.end();
    return null;
  }
  // HTTP/1.0 does not support trailers.
  const withTrailer = response.useChunkedEncodingByDefault;
  if (withTrailer) response.setHeader('trailer', CONTENT_SHA256);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const sum = createHash('sha256');
  try {
    for await (const page of file.pages) {
      if (gone.signal.aborted) return null;
      sum.update(page);
      if (!response.write(page)) await drained(response, gone.signal);
    }
    if (withTrailer) response.addTrailers({ [CONTENT_SHA256]: sum.digest('hex') });
    response.end();
    return null;
  } catch (error) {
    if (gone.signal.aborted) return null;
    abortResponse(response);
    return error;
  }
}

async function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  await once(response, 'drain', { signal: AbortSignal.any([gone, AbortSignal.timeout(STALLED_MS_MAX)]) });
}

/**
 * Aborts a response, so that the client sees that it is incomplete. An HTTP/1.0 body without a
 * length ends when the connection closes, so only a reset signals the abort.
 */
export function abortResponse(response: ServerResponse): void {
  const { socket, useChunkedEncodingByDefault: isChunked } = response;
  if (isChunked || socket === null) response.destroy();
  else socket.resetAndDestroy();
}
