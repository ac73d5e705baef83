import type { RefusalCode } from '@gateway/contracts/errors';
import {
  type AccountTerms,
  type AdmitEntry,
  type Endpoint,
  type HoldFields,
  type KeyRecord,
  LIMIT_DEFAULTS,
  type RefusalFacts,
} from '@gateway/contracts/messages';
import {
  boundFigures,
  MINUTE_MS,
  SESSION_5H_MS,
  WEEK_MS,
  allotmentRow,
  keyMonthRow,
  memberMonthRow,
  monthEnd,
  monthOf,
  monthStart,
  monthlyWindowRow,
  sessionWindowRow,
  weekStart,
  weeklyWindowRow,
} from '@gateway/metering';
import type { WindowType, WindowUnit } from '@gateway/metering';
import type { CatalogView } from '../../src/admit/catalog-view-rules.js';
import type { ModelState } from './model-state.js';
import { NO_LIMIT, costsOf, priceAt, sourcesOf, termsAt } from './model-terms.js';

export type Decision =
  | { readonly kind: 'opened' }
  | { readonly kind: 'counted' }
  | { readonly kind: 'admitted'; readonly hold: HoldFields }
  /** Several answers are correct if several windows reset at the same time. */
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly facts: readonly RefusalFacts[] }
  /** Balances that must be loaded first. */
  | { readonly kind: 'missing'; readonly rows: readonly string[] };

/** `admit` null: an `open` entry, decided up to `rate_limited`. */
export interface Question {
  readonly digests: readonly string[];
  readonly key: KeyRecord;
  readonly admit: Omit<AdmitEntry, 'id' | 'digests' | 'traceparent'> | null;
  /** Whether the same ID already has its place in a minute. */
  readonly isCounted: boolean;
}

interface Limit {
  readonly type: WindowType | null;
  readonly unit: WindowUnit;
  readonly limit: number;
  readonly used: number;
  /** Number of running calls in the window; 0 for limits in USD, where only settled use counts. */
  readonly running: number;
  readonly resetsAt: number;
}

const UNBILLED: Endpoint = '/v1/messages/count_tokens';
const SLOT_RETRY_SECONDS = 2;
const NEAR_END_SHARE = 0.05;

/**
 * Decides one call at one time, by the list in docs/behaviour.md#order-of-refusals and in its
 * order. Changes only the number of requests in the minute.
 */
export class ModelDecision {
  /** Whether a place in the minute was free and has been taken. */
  tookMinute = false;
  readonly #missing: string[] = [];

  constructor(
    private readonly state: ModelState,
    private readonly catalog: CatalogView,
    private readonly now: number,
    private readonly question: Question,
  ) {}

  decide(): Decision {
    const { key, admit } = this.question;
    const terms = termsAt(this.state.terms.value, this.now);
    const keyRefusal = this.#keyRefusal();
    const factRefusal = keyRefusal || !admit ? null : this.#factRefusal(admit);
    const plan = terms.subscription;
    const billed = admit !== null && admit.endpoint !== UNBILLED && !keyRefusal && !factRefusal;
    const planPays = plan !== null && includes(terms, admit?.model ?? '');
    const month = monthOf(this.now);
    // Loads all data for the decision before the first refusal is evaluated.
    const keyMonth = billed && key.capNanoUsd !== null ? this.#row(keyMonthRow(key.key, month), monthStart(month)) : 0;
    const memberCap = this.state.members.get(key.member)?.capNanoUsd ?? null;
    const memberMonth =
      billed && memberCap !== null ? this.#row(memberMonthRow(key.member, month), monthStart(month)) : 0;
    const windows = billed && plan && planPays ? terms.windows.map((window) => this.#window(window, plan)) : [];
    const allotment = billed && plan && planPays ? this.#allotment(terms, plan, admit.model ?? '') : null;
    if (this.#missing.length > 0) return { kind: 'missing', rows: this.#missing };

    if (keyRefusal) return keyRefusal;
    if (this.state.record?.state !== 'active') return refused('account_suspended', {});
    const minute = admit?.opened || this.question.isCounted ? null : this.#takeMinute(terms);
    if (minute) return minute;
    if (factRefusal) return factRefusal;
    if (!admit) return { kind: 'opened' };

    const model = admit.model ?? '';
    const wallet = this.state.rows.get('wallet')?.value ?? 0;
    if (wallet < 0) return refused('outstanding_debt', { available: wallet, model });
    if (!plan && wallet <= 0) return refused('no_funding', { available: wallet, model });
    if (!planPays && wallet <= 0) return refused('tier_permission_denied', { available: wallet, model });
    if (!billed) return { kind: 'counted' };

    const slots = this.state.slots();
    if (slots >= terms.concurrency) {
      return refused('concurrency_limit', {
        limit: terms.concurrency,
        used: slots,
        retryAfterSeconds: SLOT_RETRY_SECONDS,
      });
    }
    const usedUp = windows.filter(isUsedUp);
    if (usedUp.length > 0) {
      const last = Math.max(...usedUp.map(({ resetsAt }) => resetsAt));
      const facts = usedUp.filter(({ resetsAt }) => resetsAt === last).map((limit) => this.#limitFacts(limit));
      return { kind: 'refused', code: 'window_exhausted', facts };
    }
    const nearEnd = this.#nearEnd(windows);
    if (nearEnd !== null) return nearEnd;
    if (allotment && isUsedUp(allotment))
      return refused('model_limit_reached', { model, ...this.#limitFacts(allotment) });
    return this.#fund({ admit, model, wallet, planPays, windows, month, keyMonth, memberMonth, memberCap });
  }

  /**
   * In the last 5 % of a USD window, no call begins while the running calls may use up the rest.
   */
  #nearEnd(windows: readonly Limit[]): Decision | null {
    const bears = Number(this.state.planBears());
    const near = windows.filter(({ unit, limit, used, running }) => {
      const left = limit - used - running;
      return unit === 'usd' && left <= limit * NEAR_END_SHARE && bears > left;
    });
    const last = Math.max(...near.map(({ resetsAt }) => resetsAt));
    const facts = near
      .filter(({ resetsAt }) => resetsAt === last)
      .map(({ type, limit, used, running }) => ({
        ...(type !== null && { window: type }),
        unit: 'usd' as const,
        limit,
        used: used + running,
        retryAfterSeconds: SLOT_RETRY_SECONDS,
      }));
    return near.length === 0 ? null : { kind: 'refused', code: 'concurrency_limit', facts };
  }

  /** Returns the refusal that follows from the key's record. */
  #keyRefusal(): Decision | null {
    const { key, digests } = this.question;
    if (!digests.includes(key.digest)) return refused('invalid_api_key', {});
    if (key.state !== 'active') return refused('key_inactive', {});
    if (key.expiresAt !== null && this.now >= key.expiresAt) return refused('key_expired', {});
    return null;
  }

  /** `rate_limited`: takes the place in the minute, regardless of later refusals. */
  #takeMinute(terms: Terms): Decision | null {
    const { kind } = this.question.key;
    const limit = kind === 'playground' ? LIMIT_DEFAULTS.playgroundRequestsPerMinute : terms.requestsPerMinute;
    const minute = Math.floor(this.now / MINUTE_MS);
    const taken = (this.state.minutes.get(`${kind} ${minute}`) ?? 0) + 1;
    this.state.minutes.set(`${kind} ${minute}`, taken);
    this.tookMinute = taken <= limit;
    if (this.tookMinute) return null;
    const retryAfterSeconds = Math.ceil(((minute + 1) * MINUTE_MS - this.now) / 1_000);
    return refused('rate_limited', {
      limit,
      retryAfterSeconds,
      ...(kind === 'playground' && { playground: true }),
    });
  }

  /** Returns the refusal that follows from the request and the catalog. */
  #factRefusal(admit: NonNullable<Question['admit']>): Decision | null {
    const { bodyRefusal, endpoint } = admit;
    const model = admit.model ?? '';
    if (bodyRefusal !== null) return refused(bodyRefusal, {});
    const served = this.catalog.get(model);
    if (!served?.model.active) return refused('model_not_found', { model });
    const { allowedModels } = this.question.key;
    if (allowedModels && !allowedModels.includes(model))
      return refused('model_not_allowed_on_key', { model, allowedModels });
    if (served.hasSources && !served.endpoints.has(endpoint))
      return refused('endpoint_not_supported_for_model', { model });
    if (!served.model.available) return refused('model_not_available', { model });
    if (endpoint !== UNBILLED && !priceAt(this.catalog, model, this.now)) return refused('model_not_priced', { model });
    return sourcesOf(this.catalog, model, endpoint).length === 0 ? refused('no_upstream_available', { model }) : null;
  }

  /** Evaluates `insufficient_credits` and the following refusals, and computes the hold. */
  #fund(call: Funding): Decision {
    const { admit, model, wallet, planPays, windows, month, keyMonth, memberMonth, memberCap } = call;
    const { key } = this.question;
    const price = priceAt(this.catalog, model, this.now);
    const served = this.catalog.get(model);
    if (!price || !served || !admit.bounds) throw new Error('a billed call has a price and bounds');
    const { worst, least } = costsOf(admit.bounds, boundFigures(served.model, []), price);
    const held = this.state.heldWallet();
    const available = wallet - held;
    const left = Math.min(
      NO_LIMIT,
      ...windows.filter(({ unit }) => unit === 'usd').map(({ limit, used, running }) => limit - used - running),
    );
    const spendable = Math.max(0, available);
    if (planPays && left + spendable < least) return refused('insufficient_credits', { available, held, least });
    if (!planPays && available < worst) return refused('insufficient_credits', { available, held, worst });
    const resetsAt = monthEnd(month);
    const heldMember = this.state.heldMonth('member', key.member, month);
    if (memberCap !== null && isOver(memberCap, memberMonth, heldMember, worst)) {
      return refused('member_cap_reached', {
        limit: memberCap,
        used: memberMonth,
        held: told(heldMember),
        worst,
        resetsAt,
      });
    }
    const heldKey = this.state.heldMonth('key', key.key, month);
    if (key.capNanoUsd !== null && isOver(key.capNanoUsd, keyMonth, heldKey, worst)) {
      return refused('monthly_spend_cap_exceeded', {
        limit: key.capNanoUsd,
        used: keyMonth,
        held: told(heldKey),
        worst,
        resetsAt,
      });
    }
    const terms = termsAt(this.state.terms.value, this.now);
    const plan = planPays ? terms.subscription : null;
    return {
      kind: 'admitted',
      hold: {
        account: key.account,
        key: key.key,
        member: key.member,
        model,
        priceVersion: price.version,
        worstNanoUsd: worst,
        planMaxNanoUsd: planPays ? left : 0,
        walletMaxNanoUsd: planPays ? Math.min(Math.max(0, worst - left), spendable) : null,
        periods: {
          month,
          session5h: plan && terms.windows.some(isSession) ? (this.#openSession() ?? this.now) : null,
          weekly: plan ? weekStart(this.now) : null,
          subscription: plan,
        },
        windows: plan ? terms.windows.map(({ type, unit }) => ({ type, unit })) : [],
        allotment: plan ? (terms.allotments.find((one) => one.model === model)?.unit ?? null) : null,
        admittedAt: this.now,
      },
    };
  }

  #openSession(): number | null {
    const { session } = this.state;
    return session !== null && this.now < session + SESSION_5H_MS ? session : null;
  }

  #window({ type, unit, limit }: AccountTerms['windows'][number], plan: Period): Limit {
    const counts = (fields: HoldFields) => fields.windows.some((one) => one.type === type && one.unit === unit);
    const about = { type, unit, limit };
    if (type === 'weekly') {
      const start = weekStart(this.now);
      const running = this.#running(unit, (fields) => fields.periods.weekly === start && counts(fields));
      return { ...about, used: this.#row(weeklyWindowRow(unit, start), start), running, resetsAt: start + WEEK_MS };
    }
    if (type === 'monthly') {
      const running = this.#running(unit, ({ periods, ...rest }) => {
        return periods.subscription?.id === plan.id && counts({ periods, ...rest });
      });
      return { ...about, used: this.#row(monthlyWindowRow(unit, plan.id), plan.start), running, resetsAt: plan.end };
    }
    const session = this.#openSession();
    if (session === null) return { ...about, used: 0, running: 0, resetsAt: this.now + SESSION_5H_MS };
    const running = this.#running(unit, (fields) => fields.periods.session5h === session && counts(fields));
    const used = this.#row(sessionWindowRow(unit, session), session);
    return { ...about, used, running, resetsAt: session + SESSION_5H_MS };
  }

  #allotment(terms: Terms, plan: Period, model: string): Limit | null {
    const found = terms.allotments.find((one) => one.model === model);
    if (!found) return null;
    const { unit, limit } = found;
    const running = this.#running(unit, (fields) => {
      return fields.allotment === unit && fields.model === model && fields.periods.subscription?.id === plan.id;
    });
    const used = this.#row(allotmentRow(unit, model, plan.id), plan.start);
    return { type: null, unit, limit, used, running, resetsAt: plan.end };
  }

  #running(unit: WindowUnit, counts: (fields: HoldFields) => boolean): number {
    return unit === 'requests' ? this.state.running(counts) : this.state.planOwes(counts);
  }

  /**
   * Reads a balance. If its period began after the account was loaded, it starts at 0. Any other
   * missing balance must be loaded (docs/protocol.md#r13).
   */
  #row(name: string, start: number): number {
    const row = this.state.rows.get(name);
    if (!row && start <= (this.state.loadedAt ?? 0)) this.#missing.push(name);
    return row?.value ?? 0;
  }

  #limitFacts({ type, unit, limit, used, running, resetsAt }: Limit): RefusalFacts {
    return {
      ...(type && { window: type }),
      unit,
      limit,
      used: used + running,
      resetsAt,
      retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - this.now) / 1_000)),
    };
  }
}

type Terms = ReturnType<typeof termsAt>;
type Period = NonNullable<AccountTerms['subscription']>;

interface Funding {
  readonly admit: NonNullable<Question['admit']>;
  readonly model: string;
  readonly wallet: number;
  readonly planPays: boolean;
  readonly windows: readonly Limit[];
  readonly month: string;
  readonly keyMonth: number;
  readonly memberMonth: number;
  readonly memberCap: number | null;
}

function refused(code: RefusalCode, facts: RefusalFacts): Decision {
  return { kind: 'refused', code, facts: [facts] };
}

function isOver(cap: number, spent: number, held: bigint, worst: number): boolean {
  return BigInt(spent) + held + BigInt(worst) > BigInt(cap);
}

/** Limits a held sum to the largest amount of a message. */
function told(held: bigint): number {
  return held > BigInt(NO_LIMIT) ? NO_LIMIT : Number(held);
}

function isUsedUp({ used, running, limit }: Limit): boolean {
  return used + running >= limit;
}

function isSession({ type }: { type: WindowType }): boolean {
  return type === 'session_5h';
}

function includes({ models }: Terms, model: string): boolean {
  return models === null || models.includes(model);
}
