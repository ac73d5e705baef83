import type { IncomingMessage } from 'node:http';

/**
 * Largest body that is taken: 32 MiB, above the gateway's own limit so that the gateway's is what a
 * test meets.
 */
export const BODY_BYTES_MAX = 33_554_432;

/** How reading a body ended. `left`: the client closed in the middle of it. */
export type BodyOutcome = 'complete' | 'too large' | 'left';

const NOTHING = Buffer.alloc(0);

/** Collects a body and calls back once, without promises: this is on the benchmark's path. */
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
