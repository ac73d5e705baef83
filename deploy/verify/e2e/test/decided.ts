import { setTimeout as delay } from 'node:timers/promises';

/** Answers that a client repeats: nothing was decided (docs/protocol.md#failures). */
const UNDECIDED = /\b(admission_error|lookup_failed|usage_unavailable)\b/;
const REPEATED_FOR_MS = 20_000;
const PAUSE_MS = 50;

/** What is looked at of an answer. */
export interface Decidable {
  readonly status: number | null;
  /** Read where the status is not 200. */
  readonly text: string;
}

/** Whether nobody decided in time, as on a machine that stood still: documented, and no refusal. */
export function isUndecided({ status, text }: Decidable): boolean {
  return status === 500 && UNDECIDED.test(text);
}

/**
 * Calls as clients do: again while nobody decides, for 20 s at most. Gives the last answer,
 * whatever it is. Not for those who prove a 500.
 * @param isPassing another answer that is repeated
 */
export async function decided<T extends Decidable>(
  call: () => Promise<T>,
  isPassing: (answer: T) => boolean = () => false,
): Promise<T> {
  for (const deadline = performance.now() + REPEATED_FOR_MS; ; await delay(PAUSE_MS)) {
    const answer = await call();
    if (!(isUndecided(answer) || isPassing(answer)) || performance.now() > deadline) return answer;
  }
}
