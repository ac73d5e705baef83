import type { ServerResponse } from 'node:http';

/**
 * Writes the events of a stream at intervals of `delayMs` and resolves when all are written or the
 * client has disconnected. Without a delay each event still gets its own tick; events of one tick
 * would be sent in one packet, as no provider does.
 */
export function writeEvents(response: ServerResponse, events: Iterator<string>, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const write = (): void => {
      if (response.destroyed) return resolve();
      const next = events.next();
      if (next.done === true) return resolve();
      if (response.write(next.value)) schedule();
      else response.once('drain', schedule);
    };
    const schedule = (): void => {
      if (delayMs === 0) setImmediate(write);
      else setTimeout(write, delayMs);
    };
    response.once('close', resolve);
    write();
  });
}
