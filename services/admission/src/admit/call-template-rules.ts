import type { Endpoint, HoldFields, KeyRecord } from '@gateway/contracts/messages';
import { keyMonthRow, memberMonthRow, monthEnd, monthOf, monthStart } from '@gateway/metering';
import type { PlanLimits } from './plan-question-rules.js';
import { buildPlanLimits } from './plan-question-rules.js';
import type { StoredTemplate } from '../limit-store/hold-template-rules.js';
import { storeTemplate } from '../limit-store/hold-template-rules.js';
import type { RunningTerms, Validity } from '../limit-store/terms-rules.js';

/**
 * Values that billed calls of one key share while model, endpoint, price and periods are the same.
 */
export interface CallTemplate {
  readonly month: MonthSpan;
  /** Null for calls that the wallet pays for. */
  readonly plan: PlanLimits | null;
  readonly template: StoredTemplate;
  readonly hold: Omit<HoldFields, 'account' | 'worstNanoUsd' | 'planMaxNanoUsd' | 'walletMaxNanoUsd' | 'admittedAt'>;
  readonly limits: LimitTexts;
  /** The account's fields that this call reads: `ADMIT_FIELD` from the key's field on. */
  readonly fields: readonly string[];
  readonly monthRows: readonly [string, string];
}

/** A calendar month, [from, until) in ms. */
export interface MonthSpan extends Validity {
  readonly name: string;
}

/** Input that determines a call's template. */
export interface CallTemplateInput {
  readonly key: KeyRecord;
  readonly terms: RunningTerms;
  readonly model: string;
  readonly endpoint: Endpoint;
  readonly priceVersion: string;
  readonly planFunded: boolean;
  readonly now: number;
}

/** Maximum templates per account's terms. A key with more models rebuilds some of them at times. */
const CALL_TEMPLATES_MAX = 256;
const callTemplates = new WeakMap<RunningTerms, CachedCallTemplates>();

interface CachedCallTemplates {
  readonly byName: Map<string, CallTemplate>;
  /** The last template and its input. Most accounts use the same one repeatedly. */
  latest: {
    readonly question: CallTemplateInput;
    readonly month: MonthSpan;
    readonly callTemplate: CallTemplate;
  } | null;
}

/** Builds the template, or returns the cached one for the same terms. */
export function findCallTemplate(question: CallTemplateInput): CallTemplate {
  const month = findMonthSpan(question.now);
  const known = findCachedTemplates(question.terms);
  const { latest } = known;
  if (
    latest !== null &&
    latest.month === month &&
    isSame(latest.question, question) &&
    isValidFor(latest.callTemplate, question)
  ) {
    return latest.callTemplate;
  }
  const { key, model, endpoint, priceVersion, planFunded } = question;
  const name = `${key.key} ${key.version} ${model} ${endpoint} ${priceVersion} ${month.name} ${planFunded}`;
  let callTemplate = known.byName.get(name);
  if (callTemplate === undefined || !isValidFor(callTemplate, question))
    known.byName.set(name, (callTemplate = buildCallTemplate(question, month)));
  known.latest = { question, month, callTemplate };
  return callTemplate;
}

function findCachedTemplates(terms: RunningTerms): CachedCallTemplates {
  let known = callTemplates.get(terms);
  if (known === undefined || known.byName.size >= CALL_TEMPLATES_MAX) {
    known = { byName: new Map(), latest: null };
    callTemplates.set(terms, known);
  }
  return known;
}

function isSame(one: CallTemplateInput, other: CallTemplateInput): boolean {
  return (
    one.key.key === other.key.key &&
    one.key.version === other.key.version &&
    one.model === other.model &&
    one.endpoint === other.endpoint &&
    one.priceVersion === other.priceVersion &&
    one.planFunded === other.planFunded
  );
}

function isValidFor({ plan }: CallTemplate, { now }: CallTemplateInput): boolean {
  return plan === null || isWithin(plan.validity, now);
}

function buildCallTemplate(question: CallTemplateInput, month: MonthSpan): CallTemplate {
  const { key, terms, model, endpoint, priceVersion, planFunded, now } = question;
  const { subscription } = terms;
  const plan = planFunded && subscription !== null ? buildPlanLimits(terms, subscription, model, now) : null;
  const periods = {
    month: month.name,
    session5h: null,
    weekly: plan?.weekly ?? null,
    subscription: plan?.subscription ?? null,
  };
  const windows = plan?.windowTypes ?? [];
  const allotment = plan?.allotment?.unit ?? null;
  const shared = { key: key.key, member: key.member, model, priceVersion, windows, allotment };
  const { weekly } = periods;
  const template = storeTemplate({
    ...shared,
    month: month.name,
    weekly,
    subscription: periods.subscription,
    endpoint,
  });
  const monthRows = [keyMonthRow(key.key, month.name), memberMonthRow(key.member, month.name)] as const;
  const rows = [
    ...monthRows,
    ...(plan?.windows ?? []).map(({ row }) => row),
    ...(plan?.allotment ? [plan.allotment.row] : []),
  ];
  return {
    month,
    plan,
    template,
    hold: { ...shared, periods },
    limits: formatLimits(plan),
    fields: [`c:${template.id}`, `m:${key.member}`, ...rows.flatMap((row) => [`v:${row}`, `h:${row}`])],
    monthRows,
  };
}

/** Limits of a plan in the form that `lua/admit.lua` reads. Empty: no limit. */
export interface LimitTexts {
  readonly windows: readonly string[];
  readonly allotment: string;
  readonly session: string;
}

export function formatLimits(plan: PlanLimits | null): LimitTexts {
  return {
    windows: plan?.windows.map(formatLimit) ?? [],
    allotment: plan?.allotment ? formatLimit(plan.allotment) : '',
    session: plan?.session.map(({ unit, limit }) => `${unit} ${limit}`).join(' ') ?? '',
  };
}

function formatLimit(limit: NonNullable<PlanLimits['allotment']>): string {
  return `${limit.unit} ${limit.limit} ${limit.periodStart} ${limit.resetsAt} ${limit.row}`;
}

function isWithin({ from, until }: Validity, now: number): boolean {
  return now >= from && now < until;
}

let latest: MonthSpan = { name: '', from: 0, until: 0 };

/** The month that contains a time. Returns the same object until the month ends. */
function findMonthSpan(now: number): MonthSpan {
  if (!isWithin(latest, now)) {
    const name = monthOf(now);
    latest = { name, from: monthStart(name), until: monthEnd(name) };
  }
  return latest;
}
