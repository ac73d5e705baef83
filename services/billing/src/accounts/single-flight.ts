/**
 * Lets callers who ask at about the same time share one run of `work`. A caller gets the result of a run that began after it
 * asked, so the answer is never older than the question.
 */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  const run = (): Promise<T> => {
    const begun = work();
    const ended = (): void => {
      if (running === begun) running = null;
    };
    running = begun;
    begun.then(ended, ended);
    return begun;
  };

  return () => {
    if (running === null) return run();
    const before = running;
    next ??= before
      .then(
        () => undefined,
        () => undefined,
      )
      .then(() => {
        next = null;
        return run();
      });
    return next;
  };
}
