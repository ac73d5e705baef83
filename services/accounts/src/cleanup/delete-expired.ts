import { IDEMPOTENCY_HOURS } from '@gateway/contracts/messages';
import { every } from '@gateway/service-kit';
import { ATTEMPTS_KEPT_MS } from '../base/attempt-rules.js';
import type { BillingClient } from '../base/billing.js';
import { OPERATOR_SESSION_IDLE_MS, OPERATOR_SESSION_LIFE_MS } from '../operators/sessions.js';
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from '../sign-in/sessions.js';
import type { CleanupStore } from './store.js';

export interface CleanupDeps {
  readonly store: CleanupStore;
  readonly billing: Pick<BillingClient, 'fundingOf'>;
  readonly nowMs: () => number;
  readonly log: { warn(fields: object, text: string): void };
}

const EVERY_MS = 60_000;
const BATCH_MAX = 1_000;
const BATCHES_MAX = 20;
const KEYS_KEPT_MS = IDEMPOTENCY_HOURS * 3_600_000;
/**
 * A rotation is kept as long as its command may be repeated: until the idempotency key, which is
 * older than the rotation, is deleted.
 */
const ROTATIONS_KEPT_MS = 2 * KEYS_KEPT_MS;
/** Retention of a sign-up whose address is not verified. The database enforces the same time. */
export const SIGN_UP_KEPT_MS = 7 * 86_400_000;
/** Maximum number of sign-ups per run. */
const SIGN_UPS_MAX = 100;

/** Deletes expired rows in small statements. Returns the number of deleted rows. */
export async function deleteExpired({ store, nowMs }: Pick<CleanupDeps, 'store' | 'nowMs'>): Promise<number> {
  const now = nowMs();
  const before = {
    idempotencyKeys: now - KEYS_KEPT_MS,
    rotations: now - ROTATIONS_KEPT_MS,
    sessionsBegan: now - SESSION_LIFE_MS,
    sessionsUsed: now - SESSION_IDLE_MS,
    operatorSessionsBegan: now - OPERATOR_SESSION_LIFE_MS,
    operatorSessionsUsed: now - OPERATOR_SESSION_IDLE_MS,
    tokensExpired: now,
    attemptsBegan: now - ATTEMPTS_KEPT_MS,
  };
  let deleted = 0;
  for (let batch = 1; batch <= BATCHES_MAX; batch += 1) {
    const gone = await store.deleteExpired(before, BATCH_MAX);
    deleted += gone;
    if (gone < BATCH_MAX) break;
  }
  return deleted;
}

/**
 * Deletes a limited number of unverified sign-ups. A sign-up is kept if the ledger has its account:
 * it was given money, a plan or limits, also for a later time. Returns the number of deleted
 * sign-ups.
 */
export async function deleteSignUps({ store, billing, nowMs }: Omit<CleanupDeps, 'log'>): Promise<number> {
  let deleted = 0;
  for (const { user, account } of await store.unverifiedSignUps(nowMs() - SIGN_UP_KEPT_MS, SIGN_UPS_MAX)) {
    const { inLedger } = await billing.fundingOf(account);
    if (inLedger) await store.keepSignUp(user);
    else if (await store.deleteSignUp(user)) deleted += 1;
  }
  return deleted;
}

/** Deletes both every minute. Runs do not overlap. */
export function startCleanup(deps: CleanupDeps): { stop(): Promise<void> } {
  const run = async (): Promise<void> => {
    await deleteExpired(deps);
    await deleteSignUps(deps);
  };
  return every(EVERY_MS, run, { failed: (err) => deps.log.warn({ err }, 'cleanup failed; will retry') });
}
