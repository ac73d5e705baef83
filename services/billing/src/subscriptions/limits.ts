import type { AnswerBodyOf, billingPutLimits, ReceivedOf } from '@gateway/contracts/messages';
import { notInForce } from '@gateway/contracts/operator';
import type { InForce, LimitsStore } from '../operator-ports.js';
import type { LimitOverrides } from './terms-rules.js';

export interface PutLimitsDeps {
  readonly store: LimitsStore;
  readonly inForce: InForce;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Replaces an account's overrides as a whole and answers when admission has the new terms. */
export async function putLimits(
  { store, inForce, now }: PutLimitsDeps,
  { account, spec, actor }: ReceivedOf<typeof billingPutLimits>,
): Promise<AnswerBodyOf<typeof billingPutLimits>> {
  const limits: LimitOverrides = {
    requestsPerMinute: spec.requestsPerMinute ?? null,
    concurrency: spec.concurrency ?? null,
    activeKeysMax: spec.maxActiveKeys ?? null,
  };
  const change = await store.putLimits({ account, limits, actor, now: now() });
  return (await inForce.awaitDelivered(account, change)) ? { limits: spec } : notInForce();
}
