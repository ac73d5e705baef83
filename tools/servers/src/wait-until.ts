import { setTimeout as delay } from 'node:timers/promises';

const STEP_MS = 20;

/** Checks `holds` every 20 ms. Returns false if it is still false after `timeoutMs`. */
export async function waitUntil(timeoutMs: number, holds: () => boolean | Promise<boolean>): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() >= until) return false;
    await delay(STEP_MS);
  }
}
