import { type RefusalCode, isBefore } from '@gateway/contracts/errors';
import {
  type AccountTerms,
  type AdmitEntry,
  type RequestedExtras,
  type CallBounds,
  type Endpoint,
  type KeyRecord,
  LIMIT_DEFAULTS,
  type PricedVersion,
  type RefusalFacts,
  toPriceFigures,
} from '@gateway/contracts/messages';
import {
  type BoundFigures,
  type NanoUsd,
  STANDARD,
  type Served,
  isPriced,
  leastCost,
  unpricedName,
  worstCase,
} from '@gateway/metering';
import { type CallTemplate, findCallTemplate } from './call-template-rules.js';
import { type CatalogView, type CatalogDecisionInput, computeModelFacts } from './catalog-view-rules.js';
import { type RunningTerms, type Validity, intersect, isModelInPlan, findTermsAt } from '../limit-store/terms-rules.js';

type KeyRefusal = Extract<RefusalCode, 'invalid_api_key' | 'key_inactive' | 'key_expired'>;

/** A client's request, as the edge parsed it. */
export interface CallRequest {
  readonly digests: readonly string[];
  readonly endpoint: Endpoint;
  readonly model: string | null;
  readonly bounds: CallBounds | null;
  readonly bodyRefusal: AdmitEntry['bodyRefusal'];
  /** How each source's rules read the request. Absent: as a call of the standard class. */
  readonly requestedExtras?: readonly RequestedExtras[] | undefined;
  /** The field that prevents every source from pricing the request. */
  readonly unpricedField?: string | undefined;
  readonly unpricedName?: string | undefined;
}

/** The records that a call is decided with. The script verifies their versions. */
export interface CachedAccount {
  readonly key: KeyRecord;
  readonly terms: AccountTerms;
  readonly termsVersion: string;
}

/** Everything that is known about a call before the counters are read. Valid within `validity`. */
export interface PreparedCall {
  readonly validity: Validity;
  readonly known: CachedAccount;
  /** The part of the known terms that is in effect. */
  readonly terms: RunningTerms;
  readonly requestsPerMinute: number;
  /** The refusal that follows from the key's record. */
  readonly keyRefusal: KeyRefusal | null;
  /** The first refusal after `rate_limited` that follows from the request and the catalog. */
  readonly factRefusal: RefusalCode | null;
  readonly facts: RefusalFacts;
  /** Null when one of the refusals above applies, and for an `open` entry. */
  readonly funded: CallFunding | null;
}

/** Input for `outstanding_debt` and all refusals after it. */
export interface CallFunding {
  /** Null for unbilled endpoints, where `tier_permission_denied` is the last refusal. */
  readonly billed: CallBilling | null;
  /** `plan`: the plan includes the model. `wallet`: it does not. `none`: no plan is in effect. */
  readonly funding: 'plan' | 'wallet' | 'none';
  readonly model: string;
  readonly sources: readonly string[];
}

export interface CallBilling {
  readonly price: PricedVersion;
  readonly worst: number;
  readonly least: number;
  readonly callTemplate: CallTemplate;
}

const UNBILLED: Endpoint = '/v1/messages/count_tokens';

/**
 * Computes all facts about a call that do not depend on counters. They are valid for a span of
 * Redis time. Outside it the script does not decide, and the facts are computed again.
 * @param now estimated Redis time
 */
export function prepareCall(call: CallRequest, known: CachedAccount, catalog: CatalogView, now: number): PreparedCall {
  const opened = prepareOpen(call.digests, known, now);
  if (opened.keyRefusal !== null) return opened;
  const billed = call.endpoint !== UNBILLED;
  const facts = computeModelFacts(catalog, call.model ?? '', call.endpoint, billed, now);
  const requestedExtras = facts.price === null ? null : findPricedReadings(call.requestedExtras, facts.price);
  const refusal = refuseByFacts(call, known.key, facts, requestedExtras === null);
  const validity = intersect(opened.validity, facts);
  if (refusal !== null) return withFacts(opened, { validity, ...refusal, funded: null });
  const model = call.model ?? '';
  const { sources, price } = facts;
  const { terms } = opened;
  const funding = terms.subscription === null ? 'none' : isModelInPlan(terms, model) ? 'plan' : 'wallet';
  const accepted = { factRefusal: null, facts: {} } as const;
  if (price === null || requestedExtras === null || call.bounds === null) {
    return withFacts(opened, { validity, ...accepted, funded: { billed: null, funding, model, sources } });
  }
  const planFunded = funding === 'plan';
  const { endpoint } = call;
  const callTemplate = findCallTemplate({
    key: known.key,
    terms,
    model,
    endpoint,
    now,
    priceVersion: price.version,
    planFunded,
  });
  const worst = computeWorstNanoUsd(call.bounds, facts.figures, price, requestedExtras);
  const least = planFunded ? computeLeastNanoUsd(call.bounds, price, requestedExtras) : 0;
  const periods =
    callTemplate.plan === null ? callTemplate.month : intersect(callTemplate.month, callTemplate.plan.validity);
  const funded = { billed: { price, worst, least, callTemplate }, funding, model, sources } as const;
  return withFacts(opened, { validity: intersect(validity, periods), ...accepted, funded });
}

/** Evaluates the key's record and the per-minute limit. */
export function prepareOpen(digests: readonly string[], known: CachedAccount, now: number): PreparedCall {
  const { key } = known;
  const span = findTermsAt(known.terms, now);
  const { terms } = span;
  return {
    validity: key.expiresAt === null ? span : intersect(span, computeExpiryValidity(key.expiresAt, now)),
    known,
    terms,
    requestsPerMinute: key.kind === 'playground' ? LIMIT_DEFAULTS.playgroundRequestsPerMinute : terms.requestsPerMinute,
    keyRefusal: refuseByKey(digests, key, now),
    factRefusal: null,
    facts: {},
    funded: null,
  };
}

/**
 * Copies the account and key, and adds the results for the call. The fields are listed one by one,
 * because a spread of all members costs a microsecond.
 */
function withFacts(
  { known, terms, requestsPerMinute, keyRefusal }: PreparedCall,
  { validity, factRefusal, facts, funded }: Pick<PreparedCall, 'validity' | 'factRefusal' | 'facts' | 'funded'>,
): PreparedCall {
  return { validity, known, terms, requestsPerMinute, keyRefusal, factRefusal, facts, funded };
}

function refuseByKey(digests: readonly string[], key: KeyRecord, now: number): KeyRefusal | null {
  if (!digests.includes(key.digest)) return 'invalid_api_key';
  if (key.state !== 'active') return 'key_inactive';
  return key.expiresAt !== null && now >= key.expiresAt ? 'key_expired' : null;
}

function computeExpiryValidity(expiresAt: number, now: number): Validity {
  return now >= expiresAt ? { from: expiresAt, until: Infinity } : { from: 0, until: expiresAt };
}

/** Returns the first refusal that follows from the request and the catalog. */
function refuseByFacts(
  call: CallRequest,
  key: KeyRecord,
  facts: CatalogDecisionInput,
  isUnpriced: boolean,
): { factRefusal: RefusalCode; facts: RefusalFacts } | null {
  if (call.bodyRefusal !== null) return { factRefusal: call.bodyRefusal, facts: {} };
  if (call.model === null || call.bounds === null) return { factRefusal: 'invalid_request', facts: {} };
  if (facts.refusal === 'model_not_found') return { factRefusal: 'model_not_found', facts: { model: call.model } };
  if (key.allowedModels !== null && !key.allowedModels.includes(call.model)) {
    return { factRefusal: 'model_not_allowed_on_key', facts: { model: call.model, allowedModels: key.allowedModels } };
  }
  const unpriced = facts.price === null ? null : buildUnpricedFacts(call, facts.price, isUnpriced);
  if (unpriced !== null && (facts.refusal === null || isBefore('model_not_priced', facts.refusal))) {
    return { factRefusal: 'model_not_priced', facts: { model: call.model, ...unpriced } };
  }
  return facts.refusal === null ? null : { factRefusal: facts.refusal, facts: { model: call.model } };
}

/** Explains which part of the request has no price, if the model itself has one. */
function buildUnpricedFacts(
  { requestedExtras, unpricedField: field, unpricedName: name }: CallRequest,
  price: PricedVersion,
  isUnpriced: boolean,
): Pick<RefusalFacts, 'field' | 'unpriced'> | null {
  if (field !== undefined) return { field, unpriced: name ?? field };
  const asked = isUnpriced ? requestedExtras?.find((each) => each.field !== '') : undefined;
  if (asked === undefined) return null;
  const { extras } = toPriceFigures(price);
  return { field: asked.field, unpriced: unpricedName(asked, extras) ?? asked.field };
}

/** Priced readings of a request. Never empty. */
export type PricedReadings = readonly [Served, ...Served[]];

const PLAIN: PricedReadings = [STANDARD];

/**
 * Returns the sources' readings that the version can price, or null if it can price none of them.
 * An absent list means only the standard class.
 */
export function findPricedReadings(
  requestedExtras: readonly RequestedExtras[] | undefined,
  price: PricedVersion,
): PricedReadings | null {
  if (requestedExtras === undefined) return PLAIN;
  const { extras } = toPriceFigures(price);
  const [first, ...others] = requestedExtras.filter((asked) => isPriced(asked, extras));
  return first === undefined ? null : [first, ...others];
}

/**
 * Highest cost within the bounds, using the most expensive reading, in nano-USD: a safe integer
 * (docs/behaviour.md#worst-case).
 */
export function computeWorstNanoUsd(
  bounds: CallBounds,
  figures: BoundFigures,
  price: PricedVersion,
  requestedExtras: PricedReadings = PLAIN,
): number {
  const prices = toPriceFigures(price);
  let worst: NanoUsd = 0n;
  for (const asked of requestedExtras) {
    const cost = worstCase(bounds, figures, prices, asked);
    if (cost > worst) worst = cost;
  }
  return Number(worst);
}

/**
 * Lowest cost that a plan-funded call must be able to pay, using the cheapest reading, in nano-USD:
 * a safe integer (docs/behaviour.md#who-pays).
 */
export function computeLeastNanoUsd(
  bounds: CallBounds,
  price: PricedVersion,
  requestedExtras: PricedReadings = PLAIN,
): number {
  const prices = toPriceFigures(price);
  const costs = requestedExtras.map((asked) => leastCost(bounds, prices, asked));
  return Number(costs.reduce((least, cost) => (cost < least ? cost : least)));
}
