import type {
  AccountTerms,
  CallBounds,
  Endpoint,
  HoldFields,
  KeyRecord,
  PricedVersion,
  RefusalFacts,
} from '@gateway/contracts/messages';
import { monthEnd, monthOf, monthStart } from '@gateway/metering';
import type { CatalogView, ModelFacts } from './catalog-view.js';
import { modelFacts } from './catalog-view.js';
import { leastNanoUsd, worstNanoUsd } from './cost-bounds.js';
import type { PlanQuestion } from './plan-question.js';
import { planQuestion } from './plan-question.js';
import type { StoredShape } from './shape.js';
import { storeShape } from './shape.js';
import {
  PLAYGROUND_REQUESTS_PER_MINUTE,
  activeSubscription,
  intersect,
  planIncludes,
  subscriptionValidity,
} from './terms.js';
import type { Validity } from './terms.js';

/** What a client asks for, as the edge found it. */
export interface CallRequest {
  readonly digests: readonly string[];
  readonly endpoint: Endpoint;
  readonly model: string | null;
  readonly bounds: CallBounds | null;
  readonly bodyRefusal: 7 | 8 | null;
}

/** The records under which a call is decided; the script verifies their versions. */
export interface KnownAccount {
  readonly key: KeyRecord;
  readonly terms: AccountTerms;
  readonly termsVersion: string;
}

/** All that is known of a call before the counters are read. It stays true within `validity`. */
export interface PreparedCall {
  readonly validity: Validity;
  readonly known: KnownAccount;
  readonly requestsPerMinute: number;
  /** Row 4 or 5, when the key's record breaks it. */
  readonly keyRow: 0 | 4 | 5;
  /** The lowest of rows 7 to 14 that applies; 0: none does. */
  readonly factRow: number;
  readonly facts: RefusalFacts;
  /** Null when a row above refuses, and for an open. */
  readonly funded: FundedCall | null;
}

/** What rows 15 to 23 are decided on. */
export interface FundedCall {
  /** Null for endpoints that are not billed: rows 15 to 17 only. */
  readonly billed: BilledCall | null;
  /** `plan`: it includes the model. `wallet`: it does not. `none`: no plan is in force. */
  readonly funding: 'plan' | 'wallet' | 'none';
  readonly model: string;
  readonly sources: readonly string[];
}

export interface BilledCall {
  readonly price: PricedVersion;
  readonly worst: number;
  readonly least: number;
  readonly month: string;
  readonly monthStart: number;
  readonly shape: StoredShape;
  /** Null for calls that the wallet pays. */
  readonly plan: PlanQuestion | null;
  readonly hold: Omit<HoldFields, 'account' | 'planMaxNanoUsd' | 'walletMaxNanoUsd' | 'admittedAt'>;
}

const UNBILLED: Endpoint = '/v1/messages/count_tokens';

/** @param now Redis time, estimated; the script refuses to decide outside the validity of the result. */
export function prepareCall(
  call: CallRequest,
  known: KnownAccount,
  catalog: CatalogView,
  now: number,
): PreparedCall {
  const account = prepareOpen(call.digests, known, now);
  if (account.keyRow !== 0) return account;
  const billed = call.endpoint !== UNBILLED;
  const facts = modelFacts(catalog, call.model ?? '', call.endpoint, billed, now);
  const refusal = refuseByFacts(call, known.key, facts);
  const validity = intersect([account.validity, facts, subscriptionValidity(known.terms, now)]);
  if (refusal !== null) return { ...account, ...refusal, validity };
  const model = call.model ?? '';
  const subscription = activeSubscription(known.terms, now);
  const funding = subscription === null ? 'none' : planIncludes(known.terms, model) ? 'plan' : 'wallet';
  if (facts.price === null || call.bounds === null) {
    return { ...account, validity, funded: { billed: null, funding, model, sources: facts.sources } };
  }
  const plan = funding === 'plan' && subscription ? planQuestion(known.terms, subscription, model, now) : null;
  const month = monthOf(now);
  const span = { from: monthStart(month), until: monthEnd(month) };
  return {
    ...account,
    validity: intersect([validity, span, ...(plan ? [plan.validity] : [])]),
    funded: {
      billed: prepareBilled(call, call.bounds, known, facts, facts.price, plan, month),
      funding,
      model,
      sources: facts.sources,
    },
  };
}

/** Rows 4 and 5 as far as the key's record decides them, and the minute. */
export function prepareOpen(digests: readonly string[], known: KnownAccount, now: number): PreparedCall {
  const { key, terms } = known;
  const prepared = {
    validity: key.expiresAt === null ? { from: 0, until: Infinity } : expiryValidity(key.expiresAt, now),
    known,
    requestsPerMinute: key.kind === 'playground' ? PLAYGROUND_REQUESTS_PER_MINUTE : terms.requestsPerMinute,
    factRow: 0,
    funded: null,
  };
  if (!digests.includes(key.digest)) return { ...prepared, keyRow: 4, facts: {} };
  if (key.state !== 'active') return { ...prepared, keyRow: 5, facts: { state: 'key_inactive' } };
  if (key.expiresAt !== null && now >= key.expiresAt) return { ...prepared, keyRow: 5, facts: { state: 'key_expired' } };
  return { ...prepared, keyRow: 0, facts: {} };
}

function expiryValidity(expiresAt: number, now: number): Validity {
  return now >= expiresAt ? { from: expiresAt, until: Infinity } : { from: 0, until: expiresAt };
}

/** Rows 7 to 14: the lowest that applies. */
function refuseByFacts(
  call: CallRequest,
  key: KeyRecord,
  facts: ModelFacts,
): { factRow: number; facts: RefusalFacts } | null {
  if (call.bodyRefusal !== null) return { factRow: call.bodyRefusal, facts: {} };
  if (call.model === null || call.bounds === null) return { factRow: 8, facts: {} };
  if (facts.row === 9) return { factRow: 9, facts: { model: call.model } };
  if (key.allowedModels !== null && !key.allowedModels.includes(call.model)) {
    return { factRow: 10, facts: { model: call.model, allowedModels: key.allowedModels } };
  }
  return facts.row === 0 ? null : { factRow: facts.row, facts: { model: call.model } };
}

function prepareBilled(
  call: CallRequest,
  bounds: CallBounds,
  known: KnownAccount,
  facts: ModelFacts,
  price: PricedVersion,
  plan: PlanQuestion | null,
  month: string,
): BilledCall {
  const worst = worstNanoUsd(bounds, facts.bytesPerToken, price.figures);
  const periods = {
    month,
    session5h: null,
    weekly: plan?.weekly ?? null,
    subscription: plan?.subscription ?? null,
  };
  const hold = {
    key: known.key.key,
    member: known.key.member,
    model: call.model ?? '',
    priceVersion: price.version,
    worstNanoUsd: worst,
    periods,
    windows: plan?.windowTypes ?? [],
    allotment: plan?.allotment?.unit ?? null,
  };
  const { key, member, model, priceVersion, windows, allotment } = hold;
  const { weekly, subscription } = periods;
  return {
    price,
    worst,
    least: leastNanoUsd(bounds, price.figures),
    month,
    monthStart: monthStart(month),
    shape: storeShape({
      ...{ key, member, model, priceVersion, month, weekly, subscription, windows, allotment },
      endpoint: call.endpoint,
    }),
    plan,
    hold,
  };
}
