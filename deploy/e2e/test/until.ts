const POLL_MS = 20;

/** Asks again until the answer is not undefined, false or null; the text says what was waited for when time is up. */
export async function until<T>(
  what: string,
  ask: () => Promise<T> | T,
  timeoutMs = 10_000,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false)
      return answer as Exclude<T, undefined | null | false>;
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
