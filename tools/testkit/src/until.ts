const POLL_MS = 10;
const DEADLINE_MS = 60_000;

/**
 * Polls until `read` returns a value other than undefined, null and false, and returns that value.
 * Tests use this instead of sleeping for a fixed time.
 * @throws Error with `what` after the timeout
 */
export async function until<T>(
  what: string,
  read: () => Promise<T> | T,
  timeoutMs = DEADLINE_MS,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await read();
    if (answer !== undefined && answer !== null && answer !== false) {
      return answer as Exclude<T, undefined | null | false>;
    }
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
