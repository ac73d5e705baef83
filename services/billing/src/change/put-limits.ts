import { makeUuidV7 } from '@gateway/contracts/ids';
import type { AnswerBodyOf, billingPutLimits, ReceivedOf } from '@gateway/contracts/messages';
import { composeTerms, type LimitOverrides } from '../domain/terms.js';
import type { LimitsStore } from '../ports.js';
import { awaitInForce, type InForceDeps } from './await-in-force.js';
import { notInForce } from './refusal.js';

export interface PutLimitsDeps extends InForceDeps {
  readonly store: LimitsStore;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Replaces an account's overrides as a whole and answers when admission has the new terms. */
export async function putLimits(
  deps: PutLimitsDeps,
  { account, spec, actor }: ReceivedOf<typeof billingPutLimits>,
): Promise<AnswerBodyOf<typeof billingPutLimits>> {
  const now = deps.now();
  const change = makeUuidV7(now);
  const limits: LimitOverrides = {
    requestsPerMinute: spec.requestsPerMinute ?? null,
    concurrency: spec.concurrency ?? null,
    activeKeysMax: spec.maxActiveKeys ?? null,
  };
  await deps.store.putLimits({
    account,
    limits,
    actor,
    now,
    change,
    compose: (subscription) => composeTerms(subscription, limits),
  });
  return (await awaitInForce(deps, account, change)) ? { limits: spec } : notInForce();
}
