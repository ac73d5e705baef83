import type { RefusalCode } from '@gateway/contracts/errors';
import type { AccountTerms, HoldFields, KeyRecord, RefusalFacts } from '@gateway/contracts/messages';
import { type WindowUnit, secondsLeftInMinute, secondsUntil } from '@gateway/metering';
import { formatLimits } from './call-template-rules.js';
import { readTemplate } from '../limit-store/hold-template-rules.js';
import { toHoldFields, readHold } from '../limit-store/hold-rules.js';
import type { PreparedCall } from './prepare-call-rules.js';
import { type ScriptCall, type ScriptReply, toArguments, readReplyTime } from '../limit-store/script-rules.js';
import { type BucketKeys, listAccountKeys, formatKeyField } from '../limit-store/key-rules.js';
import { readStoredKey, readStoredTerms } from '../limit-store/stored-records-rules.js';

/**
 * `open` decides up to `rate_limited`, `count` up to `tier_permission_denied`, both without a hold.
 * `admit` decides everything and creates the hold.
 */
export type AdmitMode = 'open' | 'admit' | 'count';

export interface AdmitTarget {
  readonly keys: BucketKeys;
  readonly account: string;
  readonly key: string;
  readonly id: string;
  /** Epoch milliseconds inside the id. */
  readonly idTime: number;
  readonly edge: string;
  /** Whether the call has already taken its place in the minute. */
  readonly counted: boolean;
  /** Time in milliseconds until the first heartbeat must arrive, for the slot and for the hold. */
  readonly firstLeaseMs: number;
  readonly expiryMs: number;
}

/** The largest time in the contracts, used as the end of spans without an end. */
const TIME_MAX = 8.64e15;

/** The limits of a call without a plan. */
const NO_LIMITS = formatLimits(null);

/** Builds the script call that decides a prepared call. */
export function buildDecisionCall(target: AdmitTarget, prepared: PreparedCall): ScriptCall {
  const { keys, account } = target;
  const { validity, known, terms, funded } = prepared;
  const { key, termsVersion } = known;
  const billed = funded?.billed ?? null;
  const callTemplate = billed?.callTemplate ?? null;
  const minutes = key.kind === 'playground' ? keys.playgroundMinutes : keys.minutes;
  const limits = callTemplate?.limits ?? NO_LIMITS;
  const args = toArguments('ADMIT', {
    mode: chooseMode(prepared),
    isCounted: target.counted ? '1' : '0',
    account,
    id: target.id,
    idTime: target.idTime,
    validFrom: validity.from,
    validUntil: Math.min(validity.until, TIME_MAX),
    keyVersion: key.version,
    termsVersion,
    keyRefusal: prepared.keyRefusal ?? '',
    minutePrefix: `${minutes}${account}:`,
    requestsPerMinute: prepared.requestsPerMinute,
    factRefusal: prepared.factRefusal ?? '',
    funding: funded?.funding ?? 'none',
    concurrency: terms.concurrency,
    worst: billed?.worst ?? 0,
    least: billed?.least ?? 0,
    shape: callTemplate?.template.id ?? '',
    shapeText: callTemplate?.template.text ?? '',
    edge: target.edge,
    leaseMs: target.firstLeaseMs,
    expiryMs: target.expiryMs,
    monthStart: callTemplate?.month.from ?? 0,
    keyCap: key.capNanoUsd ?? '',
    keyMonthRow: callTemplate?.monthRows[0] ?? '',
    memberMonthRow: callTemplate?.monthRows[1] ?? '',
    allotment: limits.allotment,
    session: limits.session,
    windows: limits.windows.length,
  });
  args.push(...limits.windows, formatKeyField(target.key));
  if (callTemplate) args.push(...callTemplate.fields);
  return { script: 'admit', keys: [...listAccountKeys(keys, account), keys.keyRecords + target.key, keys.texts], args };
}

function chooseMode(prepared: PreparedCall): AdmitMode {
  if (!prepared.funded) return 'open';
  return prepared.funded.billed ? 'admit' : 'count';
}

/** Outcome of the script. `now` is Redis time in ms. */
export type AdmitOutcome =
  | {
      readonly kind: 'admitted';
      readonly now: number;
      readonly epoch: string;
      readonly hold: HoldFields;
      /** Number of further calls with the same worst case that would fit now. */
      readonly roomLeft: number;
    }
  | { readonly kind: 'repeated'; readonly now: number; readonly epoch: string; readonly hold: HoldFields }
  | { readonly kind: 'opened' | 'counted'; readonly now: number; readonly epoch: string }
  | {
      readonly kind: 'refused';
      readonly now: number;
      readonly epoch: string;
      readonly code: RefusalCode;
      readonly facts: RefusalFacts;
    }
  | { readonly kind: 'load'; readonly now: number; readonly needs: LoadNeeds }
  | {
      readonly kind: 'know';
      readonly now: number;
      readonly key: KeyRecord;
      readonly terms: AccountTerms;
      readonly termsVersion: string;
    }
  | { readonly kind: 'gone' | 'clock' | 'late' | 'lost' | 'restoring'; readonly now: number };

/** Records that must be loaded into the limit store before a decision is possible. */
export interface LoadNeeds {
  readonly epoch: string;
  /** Whether billing has settled all events that were stored before this epoch was set. */
  readonly caughtUp: boolean;
  readonly account: boolean;
  readonly key: boolean;
  readonly rows: readonly string[];
}

/** Seconds after which a slot may be free (specification, Limits). */
const SLOT_RETRY_SECONDS = 2;

/** @throws RangeError for a reply that `lua/admit.lua` does not return */
export function readAdmitReply(
  reply: ScriptReply,
  keyReference: { readonly account: string; readonly key: string },
  prepared: PreparedCall,
): AdmitOutcome {
  const now = readReplyTime(reply);
  const text = (index: number): string => reply[index] ?? '';
  switch (reply[0]) {
    case 'admitted':
      return {
        kind: 'admitted',
        now,
        epoch: text(2),
        hold: buildAdmittedHold(reply, keyReference.account, prepared),
        roomLeft: Number(text(7)),
      };
    case 'repeated':
      return {
        kind: 'repeated',
        now,
        epoch: text(2),
        hold: toHoldFields(keyReference.account, readHold(text(3)), readTemplate(text(4))),
      };
    case 'opened':
    case 'counted':
      return { kind: reply[0], now, epoch: text(2) };
    case 'refused': {
      const code = text(3) as RefusalCode;
      return { kind: 'refused', now, epoch: text(2), code, facts: readRefusalFacts(code, reply, now, prepared) };
    }
    case 'load':
      return { kind: 'load', now, needs: readLoadNeeds(reply) };
    case 'know':
      return {
        kind: 'know',
        now,
        key: readStoredKey(text(2), keyReference.account, keyReference.key),
        termsVersion: text(3),
        terms: readStoredTerms(text(4), text(5)),
      };
    case 'gone':
    case 'clock':
    case 'late':
    case 'lost':
    case 'restoring':
      return { kind: reply[0], now };
    default:
      throw new RangeError(`unexpected reply of the admit script: ${String(reply[0])}`);
  }
}

function readLoadNeeds(reply: ScriptReply): LoadNeeds {
  return {
    epoch: reply[2] ?? '',
    caughtUp: reply[3] === '1',
    account: reply[4] === '1',
    key: reply[5] === '1',
    rows: reply[6] === '' || reply[6] === undefined ? [] : reply[6].split(' '),
  };
}

function buildAdmittedHold(reply: ScriptReply, account: string, prepared: PreparedCall): HoldFields {
  const billed = prepared.funded?.billed;
  if (!billed) throw new RangeError('the admit script held a call that was not prepared');
  const at = (index: number): number => Number(reply[index] ?? 0);
  const walletMax = at(5);
  const { key, member, model, priceVersion, windows, allotment, periods } = billed.callTemplate.hold;
  return {
    account,
    key,
    member,
    model,
    priceVersion,
    worstNanoUsd: billed.worst,
    planMaxNanoUsd: at(4),
    walletMaxNanoUsd: walletMax < 0 ? null : walletMax,
    periods: {
      month: periods.month,
      session5h: at(6) === 0 ? null : at(6),
      weekly: periods.weekly,
      subscription: periods.subscription,
    },
    windows,
    allotment,
    admittedAt: at(3),
  };
}

function readRefusalFacts(code: RefusalCode, reply: ScriptReply, now: number, prepared: PreparedCall): RefusalFacts {
  /** Reads the numbers that follow the code. */
  const at = (index: number): number => Number(reply[index + 4]);
  const billed = prepared.funded?.billed ?? null;
  switch (code) {
    case 'rate_limited':
      return {
        limit: prepared.requestsPerMinute,
        retryAfterSeconds: secondsLeftInMinute(now),
        ...(prepared.known.key.kind === 'playground' && { playground: true as const }),
      };
    case 'outstanding_debt':
    case 'no_funding':
    case 'tier_permission_denied':
      return { available: at(0), ...findModel(prepared) };
    case 'concurrency_limit':
      return reply.length > 5
        ? readNearEndFacts(at, findWindowType(prepared, at(1)))
        : { limit: prepared.terms.concurrency, used: at(0), retryAfterSeconds: SLOT_RETRY_SECONDS };
    case 'window_exhausted':
      return { ...findWindowType(prepared, at(0)), ...readLimitFacts(reply, 5, now) };
    case 'model_limit_reached':
      return { ...findModel(prepared), ...readLimitFacts(reply, 4, now) };
    case 'insufficient_credits': {
      const cost = billed?.callTemplate.plan ? { least: billed.least } : { worst: billed?.worst ?? 0 };
      return { available: at(0), held: at(1), ...cost };
    }
    case 'member_cap_reached':
    case 'monthly_spend_cap_exceeded':
      return {
        limit: at(0),
        used: at(1),
        held: at(2),
        worst: billed?.worst ?? 0,
        ...(billed && { resetsAt: billed.callTemplate.month.until }),
      };
    default:
      return code === prepared.factRefusal ? prepared.facts : {};
  }
}

/** @param index of a window in the script's arguments; 0: the session */
function findWindowType(prepared: PreparedCall, index: number): Pick<RefusalFacts, 'window'> {
  const windows = prepared.funded?.billed?.callTemplate.plan?.windows;
  const window = index === 0 ? 'session_5h' : windows?.[index - 1]?.type;
  return window === undefined ? {} : { window };
}

/**
 * Numbers in the reply: slots, window, limit, used, and the cost of ended calls that are not
 * settled yet. The refusal applies near the end of a window.
 */
function readNearEndFacts(at: (index: number) => number, window: Pick<RefusalFacts, 'window'>): RefusalFacts {
  return { ...window, unit: 'usd', limit: at(2), used: at(3) + at(4), retryAfterSeconds: SLOT_RETRY_SECONDS };
}

function findModel(prepared: PreparedCall): { model?: string } {
  const model = prepared.funded?.model;
  return model === undefined ? {} : { model };
}

/**
 * Numbers in the reply, for a window or an allotment: unit, limit, used, running, reset. Unsettled
 * use counts as used: the running calls in requests, the cost of ended calls in USD.
 */
function readLimitFacts(reply: ScriptReply, from: number, now: number): RefusalFacts {
  const unit = reply[from] as WindowUnit;
  const [limit = 0, used = 0, running = 0, resetsAt = 0] = reply.slice(from + 1).map(Number);
  return {
    unit,
    limit,
    used: used + running,
    resetsAt,
    retryAfterSeconds: secondsUntil(now, resetsAt),
  };
}
