import { every } from '@gateway/service-kit';
import { ATTEMPTS_KEPT_MS } from '../throttle.js';
import type { IdempotencyStore, SignInLeftovers, FundingSource, SignUpLeftovers } from '../ports.js';
import { OPERATOR_SESSION_IDLE_MS, OPERATOR_SESSION_LIFE_MS } from '../operators/sessions.js';
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from '../sign-in/sessions.js';
import { KEPT_MS } from '../idempotency/handlers.js';

export interface ForgetPorts {
  readonly kept: Pick<IdempotencyStore, 'forget'>;
  readonly leftovers: SignInLeftovers;
  readonly nowMs: () => number;
  readonly log: { warn(facts: object, text: string): void };
}

const EVERY_MS = 60_000;
const BATCH_MAX = 1_000;
const BATCHES_MAX = 20;
/** A command comes again while its key is kept; the rotation that it made happened after the key was taken. */
const ROTATIONS_KEPT_MS = 2 * KEPT_MS;

/** Deletes what no request can ask for any more, in small statements and at most so many at a time. */
export async function forgetOld({ kept, leftovers, nowMs }: Omit<ForgetPorts, 'log'>): Promise<number> {
  const now = nowMs();
  const ended = {
    sessionsBegan: now - SESSION_LIFE_MS,
    sessionsUsed: now - SESSION_IDLE_MS,
    operatorSessionsBegan: now - OPERATOR_SESSION_LIFE_MS,
    operatorSessionsUsed: now - OPERATOR_SESSION_IDLE_MS,
    tokensExpired: now,
    attemptsBegan: now - ATTEMPTS_KEPT_MS,
  };
  let deleted = 0;
  for (let batch = 1; batch <= BATCHES_MAX; batch += 1) {
    const gone =
      (await kept.forget(now - KEPT_MS, now - ROTATIONS_KEPT_MS, BATCH_MAX)) +
      (await leftovers.forget(ended, BATCH_MAX));
    deleted += gone;
    if (gone < BATCH_MAX) break;
  }
  return deleted;
}

/** Does so every minute, never twice at once. */
export function startForgetting(ports: ForgetPorts & ForgetSignUpsPorts): { stop(): Promise<void> } {
  const forget = async (): Promise<void> => {
    await forgetOld(ports);
    await forgetSignUps(ports);
  };
  return every(EVERY_MS, forget, { failed: (err) => ports.log.warn({ err }, 'what is over was not deleted') });
}

export interface ForgetSignUpsPorts {
  readonly signUps: SignUpLeftovers;
  readonly funding: FundingSource;
  readonly nowMs: () => number;
}

/** A sign-up whose address is not verified so long after it is deleted; the database holds to the same. */
export const SIGN_UP_KEPT_MS = 7 * 86_400_000;
/** Sign-ups looked at in one run. */
const AT_ONCE_MAX = 100;

/**
 * Deletes sign-ups that nobody verified, a bounded number of them. One whose account has or had money or a plan stays: somebody
 * cares for it. How many went.
 */
export async function forgetSignUps({ signUps, funding, nowMs }: ForgetSignUpsPorts): Promise<number> {
  let deleted = 0;
  for (const { user, account } of await signUps.unverified(nowMs() - SIGN_UP_KEPT_MS, AT_ONCE_MAX)) {
    const { walletNanoUsd, planActive } = await funding.fundingOf(account);
    if (walletNanoUsd !== null || planActive) await signUps.keep(user);
    else if (await signUps.forget(user)) deleted += 1;
  }
  return deleted;
}
