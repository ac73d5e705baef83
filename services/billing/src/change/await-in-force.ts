import type { ChangeStore } from '../ports.js';

/** How long an answer waits until admission has the change (rule 10). */
export const IN_FORCE_MS = 5_000;
const LOOK_FIRST_MS = 5;
const LOOK_MAX_MS = 100;

export interface InForceDeps {
  readonly changes: ChangeStore;
  /** Delivers the outbox now. */
  readonly nudge: () => void;
}

/** Waits until admission has a committed change; false after five seconds. The outbox goes on until it has. */
export async function awaitInForce({ changes, nudge }: InForceDeps, account: string, change: string): Promise<boolean> {
  nudge();
  const untilMs = performance.now() + IN_FORCE_MS;
  for (let lookMs = LOOK_FIRST_MS; ; lookMs = Math.min(LOOK_MAX_MS, lookMs * 2)) {
    if (await changes.isDelivered(account, change)) return true;
    if (performance.now() + lookMs > untilMs) return false;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}
