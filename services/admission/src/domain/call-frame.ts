import type { Endpoint, HoldFields, KeyRecord } from '@gateway/contracts/messages';
import { keyMonthRow, memberMonthRow, monthEnd, monthOf, monthStart } from '@gateway/metering';
import type { PlanQuestion } from './plan-question.js';
import { planQuestion } from './plan-question.js';
import type { StoredShape } from './shape.js';
import { storeShape } from './shape.js';
import type { RunningTerms, Validity } from './terms.js';

/** What the billed calls of one key have in common while model, endpoint, price version and periods are the same. */
export interface CallFrame {
  readonly month: MonthSpan;
  /** Null for calls that the wallet pays. */
  readonly plan: PlanQuestion | null;
  readonly shape: StoredShape;
  readonly hold: Omit<HoldFields, 'account' | 'worstNanoUsd' | 'planMaxNanoUsd' | 'walletMaxNanoUsd' | 'admittedAt'>;
  /** The end of the script's arguments: limits of the plan, then the account's fields that belong to this call. */
  readonly limits: readonly (string | number)[];
  readonly fields: readonly string[];
  readonly monthRows: readonly [string, string];
}

/** A calendar month, [from, until) in ms. */
export interface MonthSpan extends Validity {
  readonly name: string;
}

/** What decides which frame a call has. */
export interface FrameQuestion {
  readonly key: KeyRecord;
  readonly terms: RunningTerms;
  readonly model: string;
  readonly endpoint: Endpoint;
  readonly priceVersion: string;
  readonly planFunded: boolean;
  readonly now: number;
}

/** Frames of one account's terms; a key that calls more models than this builds them anew now and then. */
const FRAMES_MAX = 256;
const frames = new WeakMap<RunningTerms, KnownFrames>();

interface KnownFrames {
  readonly byName: Map<string, CallFrame>;
  /** The frame that was asked for last, and for what: most accounts ask for one again and again. */
  latest: { readonly question: FrameQuestion; readonly month: MonthSpan; readonly frame: CallFrame } | null;
}

/** Builds the frame, or finds the one that was built for the same terms. */
export function callFrame(question: FrameQuestion): CallFrame {
  const month = monthSpan(question.now);
  const known = framesOf(question.terms);
  const { latest } = known;
  if (latest !== null && latest.month === month && isSame(latest.question, question) && holds(latest.frame, question)) {
    return latest.frame;
  }
  const { key, model, endpoint, priceVersion, planFunded } = question;
  const name = `${key.key} ${key.version} ${model} ${endpoint} ${priceVersion} ${month.name} ${planFunded}`;
  let frame = known.byName.get(name);
  if (frame === undefined || !holds(frame, question)) known.byName.set(name, (frame = buildFrame(question, month)));
  known.latest = { question, month, frame };
  return frame;
}

function framesOf(terms: RunningTerms): KnownFrames {
  let known = frames.get(terms);
  if (known === undefined || known.byName.size >= FRAMES_MAX) {
    known = { byName: new Map(), latest: null };
    frames.set(terms, known);
  }
  return known;
}

function isSame(one: FrameQuestion, other: FrameQuestion): boolean {
  return (
    one.key.key === other.key.key &&
    one.key.version === other.key.version &&
    one.model === other.model &&
    one.endpoint === other.endpoint &&
    one.priceVersion === other.priceVersion &&
    one.planFunded === other.planFunded
  );
}

function holds({ plan }: CallFrame, { now }: FrameQuestion): boolean {
  return plan === null || isWithin(plan.validity, now);
}

function buildFrame(question: FrameQuestion, month: MonthSpan): CallFrame {
  const { key, terms, model, endpoint, priceVersion, planFunded, now } = question;
  const { subscription } = terms;
  const plan = planFunded && subscription !== null ? planQuestion(terms, subscription, model, now) : null;
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
  const shape = storeShape({
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
    shape,
    hold: { ...shared, periods },
    limits: limitsOf(plan),
    fields: [`c:${shape.id}`, `m:${key.member}`, ...rows.flatMap((row) => [`v:${row}`, `h:${row}`])],
    monthRows,
  };
}

/** Number of windows, each window, the allotment, the session, as `lua/admit.lua` takes them. */
export function limitsOf(plan: PlanQuestion | null): (string | number)[] {
  if (plan === null) return [0, '', ''];
  return [
    plan.windows.length,
    ...plan.windows.map(limitText),
    plan.allotment ? limitText(plan.allotment) : '',
    plan.session.map(({ unit, limit }) => `${unit} ${limit}`).join(' '),
  ];
}

function limitText(limit: NonNullable<PlanQuestion['allotment']>): string {
  return `${limit.unit} ${limit.limit} ${limit.periodStart} ${limit.resetsAt} ${limit.row}`;
}

function isWithin({ from, until }: Validity, now: number): boolean {
  return now >= from && now < until;
}

let latest: MonthSpan = { name: '', from: 0, until: 0 };

/** The month of a time; the same object while it lasts. */
function monthSpan(now: number): MonthSpan {
  if (!isWithin(latest, now)) {
    const name = monthOf(now);
    latest = { name, from: monthStart(name), until: monthEnd(name) };
  }
  return latest;
}
