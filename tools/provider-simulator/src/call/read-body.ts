import type { IncomingMessage } from 'node:http';

/** Largest accepted body: 32 MiB, above the gateway's limit, so that tests reach that one first. */
export const BODY_BYTES_MAX = 33_554_432;

/** The result of reading a body. `left`: the client closed the connection before the end. */
export type BodyOutcome = 'complete' | 'too large' | 'left';

/** Collects a body and calls back once, without promises: the benchmark uses this path. */
export function readBody(request: IncomingMessage, done: (outcome: BodyOutcome, body: Buffer) => void): void {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let isDone = false;
  const finish = (outcome: BodyOutcome): void => {
    if (isDone) return;
    isDone = true;
    done(outcome, Buffer.concat(chunks));
  };
  request.on('data', (chunk: Buffer) => {
    if (isDone) return;
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes <= BODY_BYTES_MAX) return;
    chunks = [];
    finish('too large');
  });
  request.once('end', () => finish('complete'));
  request.once('error', () => finish('left'));
}
