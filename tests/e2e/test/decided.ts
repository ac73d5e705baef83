import { setTimeout as delay } from 'node:timers/promises';

/** Errors after which a client retries: the request was not decided (docs/protocol.md#failures). */
const UNDECIDED = /\b(admission_error|lookup_failed|usage_unavailable)\b/;
const REPEATED_FOR_MS = 20_000;
const PAUSE_MS = 50;

/** Parts of a response that show whether the request was decided. */
export interface DecidableResponse {
  readonly status: number | null;
  /** Only read if the status is not 200. */
  readonly text: string;
}

/**
 * Whether the request was not decided in time, for example on a stalled machine. This is documented
 * and is not a refusal.
 */
export function isUndecided({ status, text }: DecidableResponse): boolean {
  return status === 500 && UNDECIDED.test(text);
}

/**
 * Sends a request and repeats it while it is not decided, for at most 20 s, as clients do. Returns
 * the last response. Not for tests that expect a 500.
 * @param isPassing returns true for other responses that are repeated
 */
export async function sendUntilDecided<T extends DecidableResponse>(
  call: () => Promise<T>,
  isPassing: (answer: T) => boolean = () => false,
): Promise<T> {
  for (const deadline = performance.now() + REPEATED_FOR_MS; ; await delay(PAUSE_MS)) {
    const answer = await call();
    if (!(isUndecided(answer) || isPassing(answer)) || performance.now() > deadline) return answer;
  }
}
