import { limitsOf } from './call-template.js';
import { accountKeys, keyField } from './store-keys.js';
import type { BucketKeys } from './store-keys.js';
import type { PreparedCall } from './prepare-call.js';
import { inOrder } from './script-positions.js';
import type { ScriptCall } from './script-call.js';

/**
 * `open` decides up to `rate_limited`, `count` up to `tier_permission_denied`, both without a hold.
 * `admit` decides everything, and holds.
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
  /** The place in the minute was taken before. */
  readonly counted: boolean;
  /**
   * How long the hold's slot waits for the first heartbeat, and the hold for any, in milliseconds.
   */
  readonly firstLeaseMs: number;
  readonly expiryMs: number;
}

/** Largest time of the contracts, for spans without an end. */
const TIME_MAX = 8.64e15;

/** What stands for the limits of a call without a plan. */
const NO_LIMITS = limitsOf(null);

/** The decision on a prepared call. */
export function decisionCall(target: AdmitTarget, prepared: PreparedCall): ScriptCall {
  const { keys, account } = target;
  const { validity, known, terms, funded } = prepared;
  const { key, termsVersion } = known;
  const billed = funded?.billed ?? null;
  const callTemplate = billed?.callTemplate ?? null;
  const minutes = key.kind === 'playground' ? keys.playgroundMinutes : keys.minutes;
  const limits = callTemplate?.limits ?? NO_LIMITS;
  const args = inOrder('ADMIT', {
    mode: modeOf(prepared),
    isCounted: target.counted ? '1' : '0',
    account,
    id: target.id,
    idTime: target.idTime,
    validFrom: validity.from,
    validUntil: Math.min(validity.until, TIME_MAX),
    keyVersion: key.version,
    termsVersion,
    keyRank: prepared.keyRank,
    minutePrefix: `${minutes}${account}:`,
    requestsPerMinute: prepared.requestsPerMinute,
    factRank: prepared.factRank,
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
  args.push(...limits.windows, keyField(target.key));
  if (callTemplate) args.push(...callTemplate.fields);
  return {
    script: 'admit',
    keys: [...accountKeys(keys, account), keys.keyRecords + target.key, keys.texts],
    args,
  };
}

function modeOf(prepared: PreparedCall): AdmitMode {
  if (!prepared.funded) return 'open';
  return prepared.funded.billed ? 'admit' : 'count';
}
