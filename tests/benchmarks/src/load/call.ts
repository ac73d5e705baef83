import { gunzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { LoadJob } from './load.js';

/** Bytes that are kept of the body's end, to check how it ended. */
const TAIL_BYTES = 32;
/** Longest gzip body, decompressed. */
const DECODED_BYTES_MAX = 1_048_576;

/** Result of one call at its client. Times are milliseconds of `performance.now()`. */
export interface CallOutcome {
  /** Null if the response was complete and as expected. */
  readonly failure: string | null;
  readonly firstByteAt: number;
  readonly endedAt: number;
}

/** Reads one response without keeping its body, unless it is encoded. */
export function readCall(
  { bytesMin, endsWith }: LoadJob['expected'],
  done: (outcome: CallOutcome) => void,
): Dispatcher.DispatchHandler {
  let [firstByteAt, status, bytes, isEncoded] = [0, 0, 0, false];
  let tail: Buffer = Buffer.alloc(0);
  const judge = (): string | null => {
    const body = isEncoded ? gunzipSync(tail, { maxOutputLength: DECODED_BYTES_MAX }) : tail;
    if (status !== 200) return `status ${status}`;
    if ((isEncoded ? body.length : bytes) < bytesMin) return 'the body is too short';
    const end = body.subarray(-TAIL_BYTES).toString('latin1').trimEnd();
    return end.endsWith(endsWith) ? null : 'the body has an unexpected end';
  };
  const end = (failure: string | null): void => done({ failure, firstByteAt, endedAt: performance.now() });
  return {
    // undici recognises this form of handlers by this method.
    onRequestStart: () => undefined,
    onResponseStart(_controller, code, headers) {
      firstByteAt = performance.now();
      status = code;
      isEncoded = headers['content-encoding'] === 'gzip';
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.length;
      const isWhole = !isEncoded && chunk.length >= TAIL_BYTES;
      tail = isWhole ? chunk : Buffer.concat([tail, chunk]);
      if (!isEncoded) tail = tail.subarray(-TAIL_BYTES);
    },
    onResponseEnd() {
      let failure: string | null;
      try {
        failure = judge();
      } catch (error) {
        failure = (error as { readonly code: string }).code;
      }
      end(failure);
    },
    onResponseError: (_controller, error: Error & { readonly code?: string }) => end(error.code ?? error.message),
  };
}
