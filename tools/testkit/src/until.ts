const POLL_MS = 10;
const DEADLINE_MS = 20_000;

/**
 * Polls until the answer is not undefined, null or false, and returns it. Tests wait with this and
 * never sleep for a fixed time.
 * @throws Error that names `what` when the time has passed
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
