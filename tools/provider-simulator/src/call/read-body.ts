import type { IncomingMessage } from 'node:http';

/**
 * Largest accepted body: 32 MiB. It is above the gateway's own limit, so that tests reach the
 * gateway's limit first.
 */
export const BODY_BYTES_MAX = 33_554_432;

/** The result of reading a body. `left`: the client closed the connection before the end. */
export type BodyOutcome = 'complete' | 'too large' | 'left';

const NOTHING = Buffer.alloc(0);

/** Collects a body and calls back once, without promises: the benchmark uses this path. */
export function readBody(request: IncomingMessage, done: (outcome: BodyOutcome, body: Buffer) => void): void {
  let first: Buffer = NOTHING;
  let chunks: Buffer[] | undefined;
  let bytes = 0;
  let isDone = false;
  const finish = (outcome: BodyOutcome): void => {
    if (isDone) return;
    isDone = true;
    done(outcome, chunks === undefined ? first : Buffer.concat(chunks, bytes));
  };
  request.on('data', (chunk: Buffer) => {
    if (isDone) return;
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) {
      chunks = undefined;
      first = NOTHING;
      return finish('too large');
    }
    if (bytes === chunk.length) first = chunk;
    else if (chunks === undefined) chunks = [first, chunk];
    else chunks.push(chunk);
  });
  request.once('end', () => finish('complete'));
  request.once('error', () => finish('left'));
}
