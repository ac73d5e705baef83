import type { FundingSource, SignUpLeftovers } from '../ports.js';

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
